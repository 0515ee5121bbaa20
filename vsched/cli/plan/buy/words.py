"""What ``vsched plan --buy`` says."""

from __future__ import annotations

from vsched.framework.words.lists import counted

# -- gangs that wait ---------------------------------------------------------------------------------------------------


def gangs_lack(number: int) -> str:
    if not number:
        return "no gang lacks its minimum"
    return f"{counted(number, 'gang lacks its', 'gangs lack their')} minimum"
