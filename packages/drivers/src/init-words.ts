// Of tini (Docker) and catatonit (Podman).
const refused = /^(?:\[FATAL tini \(\d+\)\] exec \S+ failed|(?:FATAL|ERROR) \(catatonit:\d+\): failed to exec pid1): (.+)$/;

/**
 * Why the init process of an instance could not start its program, as it says in the only line of the output; null: it did. Without an init
 * process the engine refuses the start itself. Pure.
 */
export function initRefusal(lines: readonly string[]): string | null {
  const [line] = lines;
  return lines.length === 1 && line !== undefined ? (refused.exec(line)?.[1]?.toLowerCase() ?? null) : null;
}
