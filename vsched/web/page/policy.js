/** The policy in force: actions, tiers and plugins, and what became of the last edit. */

import { day } from "./amounts.js";
import { fill, find, make, mark, say } from "./elements.js";

const chip = (name) => make("li", { class: "word", text: name });

/** Show it. */
export function showPolicy(policy) {
  find("policy-body").hidden = !policy;
  find("policy-none").hidden = Boolean(policy);
  if (!policy) return;
  const result = find("policy-result");
  say(result, policy.ok ? "in force" : "last edit refused");
  mark(result, "data-ok", String(policy.ok));
  say(find("policy-told"), `generation ${policy.generation}, from ${policy.source}`);
  say(find("policy-rollout"), policy.rollout);
  find("policy-rollout").hidden = !policy.rollout;
  say(find("policy-hash"), policy.hash);
  say(find("policy-at"), policy.reloaded_at ? day(policy.reloaded_at) : "-");
  say(find("policy-text"), policy.text || (policy.ok ? "as read at the start" : ""));
  fill(find("policy-problems"), policy.problems, (problem) => make("li", { text: problem }));
  find("policy-problems").hidden = !policy.problems.length;
  fill(find("policy-actions"), policy.actions, chip);
  fill(find("policy-tiers"), policy.tiers, (plugins) => make("li", {}, make("ul", { class: "words" }, ...plugins.map(chip))));
}
