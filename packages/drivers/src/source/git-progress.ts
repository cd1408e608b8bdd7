const line = /^(?:remote: )?([A-Z][A-Za-z ]+): +(\d+)% \((\d+)\/(\d+)\)(?:, ([\d.]+ \w+) \| )?/;
const defaultEveryMilliseconds = 3_000;

/** Called with what git writes to standard error. */
export type OnProgress = (chunk: string) => void;

/**
 * Returns a function that writes the progress of a git command to a log as it happens: a line every three seconds. A
 * command that ends sooner has none.
 */
export function progressTo(log: (line: string) => void, everyMilliseconds = defaultEveryMilliseconds): OnProgress {
  let rest = '';
  let loggedAt = Date.now();
  return (chunk) => {
    const lines = (rest + chunk).split(/[\r\n]/);
    // Git rewrites the line of a phase; a line may arrive in two chunks.
    rest = (lines.pop() ?? '').slice(-1024);
    const text = lines.findLast((one) => line.test(one));
    if (text === undefined || Date.now() - loggedAt < everyMilliseconds) return;
    loggedAt = Date.now();
    log(progressOf(text));
  };
}

function progressOf(text: string): string {
  const [, phase = '', percent = '', done = '', total = '', bytes] = line.exec(text) ?? [];
  return `${phase}: ${percent}% (${done} of ${total}${bytes === undefined ? '' : `, ${bytes}`})`;
}
