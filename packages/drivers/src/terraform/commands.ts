import { DriverError } from '../errors.ts';
import type { TerraformBackend, TerraformEngine, TerraformOutput, TerraformRun } from '../terraform-driver.ts';

/* What Terraform is told and what it tells, wherever it runs. Pure. */

export const words: Readonly<Record<TerraformEngine, string>> = { TERRAFORM: 'Terraform', OPEN_TOFU: 'OpenTofu' };

export const planFile = 'plan';
// One entry of a process's environment, name and `=` included (MAX_ARG_STRLEN of Linux, without its final NUL).
const longestEntryBytes = 131_071;
/** Where a command leaves a state that it could not store. */
export const erroredFile = 'errored.tfstate';
/** Overrides whatever backend the files name. */
export const backendFile = 'davit_override.tf.json';

/** How a command ended. */
export interface CommandResult {
  readonly code: number;
  /** The last lines of both outputs. */
  readonly lines: readonly string[];
  /** As in words of a command that printed too much and was stopped. */
  readonly excess?: string | null;
}

/** Text of `backendFile`; null: the backend of the files is meant, and it must not be there. */
export function backendText(backend: TerraformBackend): string | null {
  if (backend.type === 'FILES') return null;
  const type = backend.type === 'DAVIT' ? 'http' : backend.type;
  return JSON.stringify({ terraform: { backend: { [type]: {} } } });
}

const plain = ['state', 'version'];
const withoutInput = ['output', 'show'];

/** A command with the arguments that it always has. */
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
 * What a user adds to a command, through the environment: arguments that hold secrets would stand in the list of processes. Only the
 * plan takes variables: it stores them for what follows. TERRAFORM_FAILED where they are too long for that.
 */
export function argumentVariables(run: TerraformRun, command: string): Record<string, string> {
  const extra = (run.extraArguments[command] ?? []).map((argument) => added(`action_extra_arguments.${command}`, argument));
  if (command !== 'plan') return extra.length === 0 ? {} : argumentVariable(command, extra);
  const files = run.variableFiles.map((file) => added('tf_var_file_paths', `-var-file=${file}`));
  const values = Object.entries(run.variables).map(([name, value]) => added(name, `-var=${name}=${value}`));
  return argumentVariable(command, [...files, ...values, ...extra]);
}

interface AddedArgument {
  /** What a user knows it by. */
  readonly name: string;
  readonly text: string;
}

function added(name: string, argument: string): AddedArgument {
  return { name, text: quoted(argument) };
}

/** Refuses what the system would: it says no more than that the list of arguments is too long, and not whose. */
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
    message: `the variables and arguments of terraform ${command} have ${bytes} bytes together, of which a process takes ${longestEntryBytes}; the largest: ${words}`,
    hint: 'Make them shorter (a single quote counts as five characters), or move large values into files of the repository that tf_var_file_paths names, or into a variable with a mount_path, which the configuration reads with file().',
  });
}

/** What every command gets, when the run's own things are below that folder. */
export function commonVariables(folder: string): Record<string, string> {
  return {
    HOME: `${folder}/home`,
    TMPDIR: `${folder}/tmp`,
    TF_DATA_DIR: `${folder}/data`,
    TF_IN_AUTOMATION: '1',
    CHECKPOINT_DISABLE: '1',
  };
}

/** One argument for a shell, and for Terraform, which takes lists of them apart as a shell does. */
export function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'"'"'`)}'`;
}

/** The outputs by `output -json`. */
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
  // Whose lock it is, is told only where there is one: not where the place of the state did not answer.
  if (text.includes('Error acquiring the state lock') && /Lock Info:|already locked/i.test(text)) {
    return new DriverError({ cause: 'TERRAFORM_STATE_LOCKED', message: 'the state is locked by another run', evidence });
  }
  if (excess !== null) return new DriverError({ cause: 'TERRAFORM_FAILED', message: `terraform ${command} ${excess}`, evidence });
  const said = lines.map((line) => /Error: (.*)/.exec(line)?.[1]).find((line) => line !== undefined);
  return new DriverError({
    cause: 'TERRAFORM_FAILED',
    message: `terraform ${command} failed with exit code ${code}${said === undefined ? '' : `: ${said}`}`,
    evidence,
  });
}

/** The version in what `version -json` prints; null: it is no Terraform. */
export function versionOf(text: string): string | null {
  try {
    const parsed: { readonly terraform_version?: unknown } | null = JSON.parse(text);
    return typeof parsed?.terraform_version === 'string' ? parsed.terraform_version : null;
  } catch {
    return null;
  }
}

export function wrongVersion({ engine, version }: TerraformRun, found: string, place: string): DriverError {
  return new DriverError({
    cause: 'TERRAFORM_VERSION_UNAVAILABLE',
    message: `provider_version.explicit_version asks for ${words[engine]} ${version ?? ''}, but ${place} has ${found}`,
  });
}

export function filesMissing({ rootPath }: TerraformRun, error?: unknown): DriverError {
  return new DriverError({
    cause: 'TERRAFORM_FILES_MISSING',
    message: `the folder ${rootPath} is not in the repository at this commit`,
    error,
  });
}
