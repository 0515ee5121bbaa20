"""Writes about claims: what a gang needs besides nodes is reserved before it is bound, or all of it is given back.

``wishes`` says what a gang needs. ``devices``, ``volumes`` and ``extended`` say what to write next, given an object as
it was read; they are pure. ``settling`` reads and writes until nothing is left to do. ``transaction`` puts the
phases of one gang together, ``transactions`` runs many, and ``releases`` gives back what waiting pods hold in vain.
"""
