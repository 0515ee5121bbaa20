"""What ``vsched plan --buy`` says."""

from __future__ import annotations

from vsched.framework.words.lists import counted

# -- gangs that wait ---------------------------------------------------------------------------------------------------


def gangs_lack(number: int) -> str:
    if not number:
        return "no gang lacks its minimum"
    return f"{counted(number, 'gang lacks its', 'gangs lack their')} minimum"


# -- what was not asked ------------------------------------------------------------------------------------------------

EXTENDER_NOT_CALLED = "the extender is not called: it may refuse these nodes"


# -- flags -------------------------------------------------------------------------------------------------------------


def with_buy_only(flags: str) -> str:
    return f"{flags}: has an effect with --buy only"


CLUSTER_WITHOUT_LIVE = "--kubeconfig, --context: for NodePools of a running cluster (expected --live)"


# -- NodePools of Karpenter --------------------------------------------------------------------------------------------

REQUIREMENTS_SAY_NOT = "its requirements do not say what its nodes have, and no node of these instance types exists"


def no_name(where: str) -> str:
    return f"{where}: a NodePool without metadata.name"


def other_version(where: str, name: str, version: object) -> str:
    return f"{where}: NodePool {name}: apiVersion {version!r} (expected karpenter.sh/v1)"


# -- node pools --------------------------------------------------------------------------------------------------------


def nothing_in_it(path: object) -> str:
    return f"{path}: nothing in it (expected a list of node pools, or NodePools)"


def same_name(name: str) -> str:
    return f"--pools: two pools are called {name!r}"


NO_NODEPOOLS_SERVED = "the cluster serves no NodePools of Karpenter (karpenter.sh/v1)"
NO_NODEPOOLS = "the cluster has no NodePools of Karpenter"


# -- the page ----------------------------------------------------------------------------------------------------------


def more_gangs(gangs: str) -> str:
    return f"\nand {gangs} more (--most N for the menus of more)"


NOT_TRIED_YET = "it was not tried yet"


def starts_with_message(message: str) -> str:
    return f"it would start with {message}"


STARTS_WITH = "it would start with "


def more_options(more: int) -> str:
    return f"{more} more (-o json has them all)"


def more_pools(pools: str) -> str:
    return f"{pools} more would not be enough (-o json has them all)"


def there_in(span: str) -> str:
    return f"there in {span}"
