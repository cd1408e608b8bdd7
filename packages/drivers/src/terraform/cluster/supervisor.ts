/*
 * A small shell script that runs in the pod of a run. It executes the commands that are put into its folder, one after
 * the other. It records when each started and how it ended, in a file and in its output. So a command needs no watcher:
 * it keeps running after the worker that started it is gone, and the next worker reads its progress. Pure.
 */

/**
 * The folder of a run in its pod. A helper container holds the folder, so that it can be read after the process has
 * ended.
 */
export const runFolder = '/davit';
export const sourceFolder = `${runFolder}/source`;
const journalFile = `${runFolder}/journal`;
const commandsFolder = 'commands';

/** Paths of files that start and stop commands, and that report on them. Relative paths are below `runFolder`. */
export const locations = {
  journal: journalFile,
  script: (key: string): string => `${commandsFolder}/${key}/run`,
  /** Starts the command. Must be written after its script. */
  go: (key: string): string => `${commandsFolder}/${key}/go`,
  /** Stops the command gracefully. */
  stop: (key: string): string => `${commandsFolder}/${key}/stop`,
  /** Contains the absolute path of the folder of the configuration. */
  root: `${runFolder}/root`,
  output: (key: string): string => `${runFolder}/${commandsFolder}/${key}/output`,
  /** Marks that all files of the run have arrived. */
  ready: 'ready',
};

/**
 * The supervisor passes SIGTERM, which the pod gets when it is deleted or evicted, on to the command. Terraform stops
 * gracefully on SIGTERM as it does on SIGINT, which background commands of a shell ignore.
 */
export const supervisor = `
run="$1"
cd ${runFolder} || exit 1
mkdir -p ${commandsFolder} home tmp data
stopping=
trap 'stopping=1' TERM INT
note() {
  echo "$*" >> ${journalFile}
  echo "::davit $run $*"
}
kills() { cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2> /dev/null | grep '^oom_kill '; }
nap() { sleep 0.2 2> /dev/null || sleep 1; }
execute() {
  note begin "$key"
  before="$(kills)"
  ( sh "$folder/run" < /dev/null; echo $? > "$folder/code.new"; mv "$folder/code.new" "$folder/code" ) &
  told=
  while [ ! -f "$folder/code" ]; do
    if [ -z "$told" ] && { [ -n "$stopping" ] || [ -f "$folder/stop" ]; }; then
      kill -TERM "$(cat pid 2> /dev/null)" 2> /dev/null && told=1
    fi
    nap
  done
  rm -f pid
  [ "$(kills)" = "$before" ] && memory=enough || memory=short
  note end "$key" "$(cat "$folder/code")" "$memory"
}
while [ -z "$stopping" ]; do
  for folder in ${commandsFolder}/*; do
    key="\${folder#${commandsFolder}/}"
    [ -f "$folder/go" ] && [ -z "$stopping" ] || continue
    rm -f "$folder/go"
    execute
  done
  nap
done
`;

/**
 * Returns the script of one command, whose arguments are quoted. `output`: the file that gets its standard output
 * instead of the log.
 */
export function commandScript(
  line: string,
  { folder, output }: { readonly folder: string; readonly output: string | null },
): string {
  const into = output === null ? '' : ` > ${output}`;
  return `echo $$ > ${runFolder}/pid\ncd ${folder} || exit 1\npwd > ${runFolder}/root\nexec ${line}${into}\n`;
}

/**
 * The result of a command. `isShort`: the kernel killed a process of the command or of a provider, as no memory was
 * left.
 */
export interface CommandEnd {
  readonly code: number;
  readonly isShort: boolean;
}

/** The commands that have started and ended, according to the journal of a run. */
export interface Progress {
  readonly begun: ReadonlySet<string>;
  readonly ended: ReadonlyMap<string, CommandEnd>;
}

export function progressOf(journal: string | null): Progress {
  const words = (journal ?? '').split('\n').map((line) => line.split(' '));
  const of = (word: string): string[][] => words.filter(([first]) => first === word);
  return {
    begun: new Set(of('begin').map(([, key = '']) => key)),
    ended: new Map(of('end').map(([, key = '', code = '', memory]) => [key, toEnd(code, memory)])),
  };
}

/**
 * If the disk is full, the exit code is missing. The command then counts as failed, as its success cannot be verified.
 */
function toEnd(code: string, memory: string | undefined): CommandEnd {
  return { code: isCode(code) ? Number(code) : 1, isShort: memory === 'short' };
}

function isCode(text: string): boolean {
  return /^\d+$/.test(text);
}

/** A line of the output of a run: text of its command, and the supervisor's own marks. */
export interface OutputLine {
  readonly text: string;
  readonly begun: string | null;
  readonly ended: (CommandEnd & { readonly key: string }) | null;
}

export function outputLine(line: string, runId: string): OutputLine {
  const at = line.lastIndexOf(`::davit ${runId} `);
  if (at < 0) return { text: line, begun: null, ended: null };
  // If the command's output does not end with a line break, its text precedes the mark on the same line.
  const text = line.slice(0, at);
  const [word, key = '', code = '', memory] = line.slice(at).trimEnd().split(' ').slice(2);
  return {
    text,
    begun: word === 'begin' ? key : null,
    ended: word === 'end' && isCode(code) ? { key, ...toEnd(code, memory) } : null,
  };
}
