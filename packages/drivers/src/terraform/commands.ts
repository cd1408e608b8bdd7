import { DriverError } from '../errors.ts';
import type { TerraformBackend, TerraformEngine, TerraformOutput, TerraformRun } from '../terraform-driver.ts';

/* Arguments, variables and output of Terraform, wherever it runs. Pure. */

export const words: Readonly<Record<TerraformEngine, string>> = { TERRAFORM: 'Terraform', OPEN_TOFU: 'OpenTofu' };

export const planFile = 'plan';
// Most bytes of one entry of a process's environment, including name and `=` (MAX_ARG_STRLEN of Linux, without its
// final NUL).
const longestEntryBytes = 131_071;
/** File in which a command leaves a state that it could not store. */
export const erroredFile = 'errored.tfstate';
/** Overrides the backend of the configuration's own files. */
export const backendFile = 'davit_override.tf.json';

/** The result of a command. */
export interface CommandResult {
  readonly code: number;
  /** The last lines of both outputs. */
  readonly lines: readonly string[];
  /** Set if the command was stopped because it printed too much: a text that follows its name. */
  readonly excess?: string | null;
}

/**
 * Returns the text of `backendFile`; null if the backend of the configuration's files is to be used and `backendFile`
 * must not exist.
 */
export function backendText(backend: TerraformBackend): string | null {
  if (backend.type === 'FILES') return null;
  const type = backend.type === 'DAVIT' ? 'http' : backend.type;
  return JSON.stringify({ terraform: { backend: { [type]: {} } } });
}

const plain = ['state', 'version'];
const withoutInput = ['output', 'show'];

/** Returns a command with the arguments that it always has. */
export function withCommon(command: string, args: readonly string[]): string[] {
  if (plain.includes(command)) return [command, ...args];
  return [command, ...(withoutInput.includes(command) ? [] : ['-input=false']), '-no-color', ...args];
}

export function initArguments({ backend }: TerraformRun): string[] {
  const config = 'config' in backend ? backend.config : {};
  return [...Object.entries(config).map(([name, value]) => `-backend-config=${name}=${value}`), '-reconfigure'];
}

export function planArguments(file: string, destroy: boolean): string[] {
  return [`-out=${file}`, '-detailed-exitcode', ...(destroy ? ['-destroy'] : [])];
}

/**
 * Returns the variables with a user's arguments for a command. They go through the environment, as the process list
 * would show secrets in arguments. Only `plan` takes variables: it stores them in the plan for later commands. Fails
 * with TERRAFORM_FAILED if they are too long for the environment.
 */
export function argumentVariables(run: TerraformRun, command: string): Record<string, string> {
  const extra = (run.extraArguments[command] ?? []).map((argument) => added(`action_extra_arguments.${command}`, argument));
  if (command !== 'plan') return extra.length === 0 ? {} : argumentVariable(command, extra);
  const files = run.variableFiles.map((file) => added('tf_var_file_paths', `-var-file=${file}`));
  const values = Object.entries(run.variables).map(([name, value]) => added(name, `-var=${name}=${value}`));
  return argumentVariable(command, [...files, ...values, ...extra]);
}

interface AddedArgument {
  /** The name by which the user knows the argument. */
  readonly name: string;
  readonly text: string;
}

function added(name: string, argument: string): AddedArgument {
  return { name, text: quoted(argument) };
}

/**
 * Refuses arguments that the system would refuse. The system's own error only says that the argument list is too long,
 * but not which argument is.
 */
function argumentVariable(command: string, list: readonly AddedArgument[]): Record<string, string> {
  const key = `TF_CLI_ARGS_${command}`;
  const value = list.map(({ text }) => text).join(' ');
  const bytes = Buffer.byteLength(key) + 1 + Buffer.byteLength(value);
  if (bytes <= longestEntryBytes) return { [key]: value };
  const sizes = new Map<string, number>();
  for (const { name, text } of list) sizes.set(name, (sizes.get(name) ?? 0) + Buffer.byteLength(text));
  const largest = [...sizes].toSorted(([, one], [, other]) => other - one).slice(0, 3);
  const words = largest.map(([name, size]) => `${name} (${size} bytes)`).join(', ');
  throw new DriverError({
    cause: 'TERRAFORM_FAILED',
    message: `the variables and arguments of terraform ${command} have ${bytes} bytes together, but a process accepts at most ${longestEntryBytes}; the largest: ${words}`,
    hint: 'Make them shorter (a single quote counts as five characters), or move large values into files of the repository that tf_var_file_paths names, or into a variable with a mount_path, which the configuration reads with file().',
  });
}

/** Returns the variables of every command; `folder` contains the run's own files. */
export function commonVariables(folder: string): Record<string, string> {
  return {
    HOME: `${folder}/home`,
    TMPDIR: `${folder}/tmp`,
    TF_DATA_DIR: `${folder}/data`,
    TF_IN_AUTOMATION: '1',
    CHECKPOINT_DISABLE: '1',
  };
}

/** Quotes one argument for a shell. Terraform splits lists of arguments as a shell does. */
export function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'"'"'`)}'`;
}

/** Parses the output of `output -json`. */
export function outputsOf(text: string): TerraformOutput[] {
  const parsed: Readonly<Record<string, { readonly value: unknown; readonly sensitive?: boolean }>> = JSON.parse(
    text === '' ? '{}' : text,
  );
  return Object.entries(parsed).map(([name, { value, sensitive }]) => ({
    name,
    value: typeof value === 'string' ? value : JSON.stringify(value),
    sensitive: sensitive === true,
  }));
}

export function failureOf(command: string, { code, lines, excess = null }: CommandResult): DriverError {
  const text = lines.join('\n');
  const evidence = { lines, exit: { code, outOfMemory: false } };
  // Names the holder of the lock only if a lock exists, not if the backend of the state is unreachable.
  if (text.includes('Error acquiring the state lock') && /Lock Info:|already locked/i.test(text)) {
    return new DriverError({ cause: 'TERRAFORM_STATE_LOCKED', message: 'the state is locked by another run', evidence });
  }
  if (excess !== null) return new DriverError({ cause: 'TERRAFORM_FAILED', message: `terraform ${command} ${excess}`, evidence });
  const output = lines.map((line) => /Error: (.*)/.exec(line)?.[1]).find((line) => line !== undefined);
  return new DriverError({
    cause: 'TERRAFORM_FAILED',
    message: `terraform ${command} failed with exit code ${code}${output === undefined ? '' : `: ${output}`}`,
    evidence,
  });
}

/** Returns the version in the output of `version -json`; null if the program is not Terraform. */
export function versionOf(text: string): string | null {
  try {
    const parsed: { readonly terraform_version?: unknown } | null = JSON.parse(text);
    return typeof parsed?.terraform_version === 'string' ? parsed.terraform_version : null;
  } catch {
    return null;
  }
}

export function wrongVersion({ engine, version }: TerraformRun, found: string, location: string): DriverError {
  return new DriverError({
    cause: 'TERRAFORM_VERSION_UNAVAILABLE',
    message: `provider_version.explicit_version asks for ${words[engine]} ${version ?? ''}, but ${location} has ${found}`,
  });
}

export function filesMissing({ rootPath }: TerraformRun, error?: unknown): DriverError {
  return new DriverError({
    cause: 'TERRAFORM_FILES_MISSING',
    message: `the folder ${rootPath} is not in the repository at this commit`,
    error,
  });
}
