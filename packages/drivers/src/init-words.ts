/**
 * Prefix of a line of catatonit, the init process of Podman, which writes the line in parts. A busy engine may store
 * each part as a line of its own, join two lines, or lose the first part.
 */
const nameOfCatatonit = /(?:FATAL|ERROR) \(catatonit:\d+\): /g;
const refusals = [/^failed to exec pid1: (.+)$/, /^\[FATAL tini \(\d+\)\] exec \S+ failed: (.+)$/];

/**
 * Returns why the init process of an instance could not start its program, from its output; null if it could. The
 * output of an instance with several starts has the same message for each start. Without an init process the engine
 * itself refuses the start. Pure.
 */
export function initRefusal(lines: readonly string[]): string | null {
  const words = lines.join('\n').replace(nameOfCatatonit, '\n').split('\n');
  const reasons = words.filter((line) => line !== '').map(reasonOf);
  return reasons.includes(null) ? null : (reasons.at(-1) ?? null);
}

function reasonOf(line: string): string | null {
  const found = refusals.map((refusal) => refusal.exec(line)?.[1]).find((reason) => reason !== undefined);
  return found?.toLowerCase() ?? null;
}
