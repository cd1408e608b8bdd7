// Of tini (Docker) and catatonit (Podman).
const refused = /^(?:\[FATAL tini \(\d+\)\] exec \S+ failed|(?:FATAL|ERROR) \(catatonit:\d+\): failed to exec pid1): (.+)$/;

/**
 * Why the init process of an instance could not start its program, by its output; null: it did. The output of one that was started
 * several times has the same line for each attempt. Without an init process the engine refuses the start itself. Pure.
 */
export function initRefusal(lines: readonly string[]): string | null {
  const reasons = lines.map((line) => refused.exec(line)?.[1]?.toLowerCase() ?? null);
  return reasons.includes(null) ? null : (reasons.at(-1) ?? null);
}
