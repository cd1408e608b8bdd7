/*
 * What runs in the pod of a run: a small shell script that executes the commands which are put into its folder, one after the other,
 * and writes down when each began and how it ended, in a file and in its output. So a command needs nobody who watches: it goes on
 * while the worker that began it is gone, and the next one reads how far it is. Pure.
 */

/** The folder of a run in its pod. A helper beside the container holds it, so that it can be read after the process has ended. */
export const runFolder = '/davit';
export const sourceFolder = `${runFolder}/source`;
const journalFile = `${runFolder}/journal`;
const commandsFolder = 'commands';

/** Where files are that commands are begun and stopped with, and that tell of them. Relative ones are below `runFolder`. */
export const places = {
  journal: journalFile,
  script: (key: string): string => `${commandsFolder}/${key}/run`,
  /** Begins the command. Has to come after its script. */
  go: (key: string): string => `${commandsFolder}/${key}/go`,
  /** Has the command end in order. */
  stop: (key: string): string => `${commandsFolder}/${key}/stop`,
  /** The folder of the configuration, by its whole path. */
  root: `${runFolder}/root`,
  output: (key: string): string => `${runFolder}/${commandsFolder}/${key}/output`,
  /** The files of the run are all here. */
  ready: 'ready',
};

/**
 * SIGTERM, as the pod gets when it is deleted or evicted, is passed on to the command; Terraform ends in order at it as it does at
 * SIGINT, which a shell's background commands ignore.
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

/** The script of one command, whose arguments are quoted. `output`: where its standard output goes, in place of the log. */
export function commandScript(
  line: string,
  { folder, output }: { readonly folder: string; readonly output: string | null },
): string {
  const into = output === null ? '' : ` > ${output}`;
  return `echo $$ > ${runFolder}/pid\ncd ${folder} || exit 1\npwd > ${runFolder}/root\nexec ${line}${into}\n`;
}

/** How a command ended. `isShort`: the kernel killed a process of it, or of a provider, as there was no memory left. */
export interface CommandEnd {
  readonly code: number;
  readonly isShort: boolean;
}

/** What the journal of a run says. */
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

/** With a full disk there is no code: the command counts as failed, as nobody can say that it did what it was to do. */
function toEnd(code: string, memory: string | undefined): CommandEnd {
  return { code: isCode(code) ? Number(code) : 1, isShort: memory === 'short' };
}

function isCode(text: string): boolean {
  return /^\d+$/.test(text);
}

/** A line of the output of a run: the text that is its command's, and what it says of commands itself. */
export interface OutputLine {
  readonly text: string;
  readonly begun: string | null;
  readonly ended: (CommandEnd & { readonly key: string }) | null;
}

export function outputLine(line: string, runId: string): OutputLine {
  const at = line.lastIndexOf(`::davit ${runId} `);
  if (at < 0) return { text: line, begun: null, ended: null };
  // What a command prints without an end of line stands before it.
  const text = line.slice(0, at);
  const [word, key = '', code = '', memory] = line.slice(at).trimEnd().split(' ').slice(2);
  return {
    text,
    begun: word === 'begin' ? key : null,
    ended: word === 'end' && isCode(code) ? { key, ...toEnd(code, memory) } : null,
  };
}
