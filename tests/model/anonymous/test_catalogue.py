"""A catalogue of claims under pseudonyms: the words are gone, and what belongs together still does."""

from __future__ import annotations

import msgspec

from tests.support.catalogues import catalogue
from tests.support.recording import snapshot_of
from vsched.model.anonymous.catalogue import renamed_catalogue
from vsched.model.anonymous.names import Pseudonyms, anonymised
from vsched.model.anonymous.rules import Renaming
from vsched.model.claims.catalogue import ClaimCatalogue
from vsched.model.claims.devices import device_model
from vsched.model.dump.claims import claim_parts
from vsched.model.dump.tables import Numbered, Parts, written
from vsched.web.pages.recording import selects

HOLDER = "node n1 cpu=9\njob x/old pods=1 phase=Running on=n1"


def renamed() -> ClaimCatalogue:
    """The catalogue under pseudonyms."""
    users = list(snapshot_of(HOLDER).jobs["x/old"].tasks.values())

    def under(names: Pseudonyms) -> ClaimCatalogue:
        return renamed_catalogue(Renaming(names), catalogue(users), selects)

    return anonymised(under)


def test_the_words_are_gone_and_names_of_classes_stay() -> None:
    told = b"".join(written(Parts(claim_parts(renamed(), Numbered()))))
    assert b"acme" not in told
    assert b"tensor" in told
    assert b"example.com/gpu" in told
    assert msgspec.json.decode(told)


def test_a_selector_says_of_each_device_what_it_said() -> None:
    devices = renamed().devices
    [kind] = devices.classes.values()
    [selector] = kind.selectors
    model = devices.pools[0].devices[0].model
    assert selects(selector.expression, model) is True
    assert selects(selector.expression, device_model(model.driver, model.attributes[:-1])) is None
    assert model.attributes == tuple(sorted(model.attributes))


def test_what_belongs_together_still_does() -> None:
    found = renamed()
    volumes, devices = found.volumes, found.devices
    [(kind, available)] = volumes.available.items()
    assert all(volumes.volumes[one.name] is one for one in available)
    assert kind in volumes.classes
    assert {one.storage_class for one in available} == {kind}
    bound = next(claim for claim in volumes.claims.values() if claim.bound)
    assert volumes.volumes[bound.volume].claim == bound.key
    [user] = volumes.users[bound.key].values()
    assert list(volumes.by_node) == [user.node]
    assert user.node in volumes.limits
    [(key, held)] = devices.allocated.items()
    assert devices.claims[key] is held
    assert held.allocation is not None
    first, second = devices.pools[0].devices
    assert [each.device for each in held.allocation.devices] == [first.id, second.id]
    assert first.model is second.model
    assert first.id.pool == first.node == user.node
    free = next(claim for claim in devices.claims.values() if claim.allocation is None)
    assert free.spec is held.spec
    assert free.spec.constraints[0].attribute in dict(first.model.attributes)
