import { hasControlCharacter } from '@davit/base';
import { terraformCommands, type Body, type operations, type Response } from '@davit/contract';
import { leavesRoot, type Problems } from '../../shared/problems.ts';

type Request = Body<(typeof operations)['createTerraform']>;
type TerraformRecord = Response<(typeof operations)['getTerraform']>;

/**
 * Location of the Terraform state: exactly one member is set. `kubernetes`: in the cluster, which here means that Davit
 * stores the state.
 */
export type BackendSpec = TerraformRecord['backend'];
export type ProviderVersionSpec = TerraformRecord['provider_version'];
export type FragmentSpec = NonNullable<TerraformRecord['dockerfile_fragment']>;

const backends = ['kubernetes', 'user_provided', 'blueprint'] as const;

export function toBackend(request: NonNullable<Request['backend']>, problems: Problems): BackendSpec {
  const set = backends.filter((name) => request[name]);
  if (set.length !== 1) {
    const found = set.length === 0 ? 'none of them is' : `${set.join(' and ')} are`;
    problems.add('backend', `must have exactly one of kubernetes, user_provided and blueprint; ${found} set`);
  }
  const { blueprint } = request;
  if (request.user_provided) return { user_provided: {} };
  if (!blueprint) return { kubernetes: {} };
  const word = /^[a-z][a-z0-9_-]*$/;
  if (!word.test(blueprint.type)) problems.add('backend.blueprint.type', 'must be the name of a backend, as in s3 or gcs');
  const config = blueprint.config ?? {};
  for (const [name, value] of Object.entries(config)) {
    if (!/^[A-Za-z_][\w-]*$/.test(name) || hasControlCharacter(value)) {
      problems.add(
        `backend.blueprint.config.${name}`,
        'must be an argument of the backend, as in bucket, with a value without control characters',
      );
    }
  }
  return { blueprint: { type: blueprint.type, config } };
}

export function toProviderVersion(
  { read_from_terraform_block, explicit_version }: NonNullable<Request['provider_version']>,
  problems: Problems,
): ProviderVersionSpec {
  const reads = read_from_terraform_block ?? false;
  const version = explicit_version ?? '';
  if (!reads && version === '') {
    problems.add('provider_version.explicit_version', 'is required, as in 1.11.4, unless read_from_terraform_block is true');
  } else if (version !== '' && !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) {
    problems.add('provider_version.explicit_version', 'must be a whole version, as in 1.11.4');
  }
  return { read_from_terraform_block: reads, explicit_version: version };
}

// Options that Davit itself passes to the program.
const own =
  /^-{1,2}(chdir|out|state|state-out|backup|input|json|lock|auto-approve|destroy|backend|backend-config|force-copy)(=|$)/;

export function toExtraArguments(
  request: Readonly<Record<string, readonly string[]>>,
  problems: Problems,
): Readonly<Record<string, readonly string[]>> {
  for (const [command, list] of Object.entries(request)) {
    const at = `action_extra_arguments.${command}`;
    if (!terraformCommands.some((one) => one === command)) {
      problems.add(at, `is no command that takes arguments here; name one of ${terraformCommands.join(', ')}`);
    }
    list.forEach((argument, index) => {
      if (!argument.startsWith('-') || hasControlCharacter(argument)) {
        problems.add(`${at}.${index}`, 'must be an option with its value, as in -parallelism=5');
      } else if (own.test(argument)) {
        problems.add(`${at}.${index}`, 'is an option that Davit sets itself; leave it out');
      }
    });
  }
  return request;
}

export function toFragment(request: NonNullable<Request['dockerfile_fragment']>, problems: Problems): FragmentSpec {
  const at = 'dockerfile_fragment';
  const { type, path, content } = request;
  if (type === 'inline') {
    if (!content) problems.add(`${at}.content`, 'is required with the type inline');
    return { type, content: content ?? '' };
  }
  if (!path || leavesRoot(path) || path.startsWith('-') || hasControlCharacter(path)) {
    problems.add(`${at}.path`, 'is required with the type file: a file inside the repository, without .. and control characters');
  }
  return { type, path: path ?? '' };
}
