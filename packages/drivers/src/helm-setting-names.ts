/*
 * How the values of a chart are called in `set`, `set_string` and `set_json`. Helm reads names and values out of one text, `name=value,name=value`, so a
 * sign that ends a name there would make the rest of it a value of its own choice, and with `--set-file` a file of this machine. The grammar
 * is narrower than Helm's (pkg/strvals of Helm 4): what it takes, Helm takes for one name.
 */

/** A member, after its dot but for the first one, and the places in lists behind it. A sign that means something has a backslash. */
const member = /(?:[^\\.,=[\]{}\p{Cc}]|\\\P{Cc})+/u;
const name = new RegExp(`^${member.source}(?:\\[\\d{1,5}\\])*(?:\\.${member.source}(?:\\[\\d{1,5}\\])*)*$`, 'u');
const places = /(?<!\\)\[(\d+)\]/g;
/** What the name leads through: members, and places in lists. */
const steps = /(?:[^\\.[]|\\.)+/gu;

/** Both are Helm's own. */
const largestIndex = 65_536;
const mostSteps = 30;
const longestName = 1_024;

/** Why Helm is not given a value of that name, as the end of a sentence; null: it is one. Pure. */
export function helmSettingFault(text: string): string | null {
  if (text.length > longestName) return `it is longer than ${longestName} characters`;
  if (!name.test(text)) {
    return 'it is not made of members and places in lists, as in image.tag or hosts[0].name; put a backslash before each of . , = [ ] { } that belongs to a member';
  }
  if ((text.match(steps)?.length ?? 0) > mostSteps) return `it leads through more than ${mostSteps} members and lists`;
  const tooLarge = [...text.matchAll(places)].find(([, index]) => Number(index) > largestIndex);
  return tooLarge === undefined ? null : `the place ${tooLarge[0]} is larger than ${largestIndex}`;
}
