/*
 * Checks the names of chart values in `set`, `set_string` and `set_json`. Helm parses names and values out of one text,
 * `name=value,name=value`. A special character inside a name could therefore start another value and, with
 * `--set-file`, read a file of this machine. This grammar is narrower than Helm's (pkg/strvals of Helm 4): every name
 * that it accepts is one name for Helm.
 */

/** One member of a name, without its leading dot and its list indexes. A backslash escapes special characters. */
const member = /(?:[^\\.,=[\]{}\p{Cc}]|\\\P{Cc})+/u;
const name = new RegExp(`^${member.source}(?:\\[\\d{1,5}\\])*(?:\\.${member.source}(?:\\[\\d{1,5}\\])*)*$`, 'u');
const locations = /(?<!\\)\[(\d+)\]/g;
/** The steps of a name: members and list indexes. */
const steps = /(?:[^\\.[]|\\.)+/gu;

/** Both limits are Helm's own. */
const largestIndex = 65_536;
const maxSteps = 30;
const longestName = 1_024;

/** Returns why Helm cannot be given a value of that name, as the end of a sentence; null if the name is valid. Pure. */
export function helmSettingFault(text: string): string | null {
  if (text.length > longestName) return `it is longer than ${longestName} characters`;
  if (!name.test(text)) {
    return 'it must consist of members and list indexes, as in image.tag or hosts[0].name; put a backslash before each of . , = [ ] { } that is part of a member';
  }
  if ((text.match(steps)?.length ?? 0) > maxSteps) return `it has more than ${maxSteps} members and indexes`;
  const tooLarge = [...text.matchAll(locations)].find(([, index]) => Number(index) > largestIndex);
  return tooLarge === undefined ? null : `the index ${tooLarge[0]} is larger than ${largestIndex}`;
}
