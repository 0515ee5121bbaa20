"""What the responders of pods say, by the uid of the pod."""

from __future__ import annotations

import msgspec

from vsched import api
from vsched.mirror.ingest.evictions import answer_of, target_of
from vsched.model.pods.cooperation import NO_ANSWER, ResponderAnswer
from vsched.model.pods.task import Task


class ResponderStore:
    """The Evictions that say something. A pod may have several, because a canceled one stays for a while."""

    def __init__(self) -> None:
        self._pods: dict[str, str] = {}
        """By the key of an Eviction: the uid of its pod."""
        self._answers: dict[str, dict[str, ResponderAnswer]] = {}
        """By the uid of the pod and the key of the Eviction."""

    def put(self, key: str, found: api.Eviction) -> str:
        """Take in an Eviction; returns the uid of the pod of which it says something new, empty for none."""
        uid, answer = target_of(found), answer_of(found)
        if answer == NO_ANSWER or not uid:
            return self.drop(key)
        if self._pods.get(key, uid) != uid:
            self.drop(key)  # another one of the same name
        if self._answers.get(uid, {}).get(key) == answer:
            return ""
        self._pods[key] = uid
        self._answers.setdefault(uid, {})[key] = answer
        return uid

    def drop(self, key: str) -> str:
        """An Eviction is gone; returns the uid of its pod where it said something."""
        uid = self._pods.pop(key, "")
        if uid:
            answers = self._answers[uid]
            del answers[key]
            if not answers:
                del self._answers[uid]
        return uid

    def answered(self, task: Task) -> Task:
        """The pod with what its responders say of the request that it ends by itself."""
        if task.asked is None:
            return task
        answers = self._answers.get(task.uid)
        answer = answers[max(answers)] if answers else NO_ANSWER
        if answer == task.asked.answer:
            return task
        return msgspec.structs.replace(task, asked=msgspec.structs.replace(task.asked, answer=answer))
