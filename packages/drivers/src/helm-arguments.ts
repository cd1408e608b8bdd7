import { DriverError } from './errors.ts';

/*
 * Arguments that a user may add to `helm upgrade`. All others are refused, not only those known to be harmful: later
 * versions of Helm may add harmful ones. Users must not choose the cluster, namespace, account or programs to run, nor
 * print values.
 */

const switches = new Set([
  '--no-hooks',
  '--skip-crds',
  '--wait-for-jobs',
  '--dependency-update',
  '--disable-openapi-validation',
  '--skip-schema-validation',
  '--reset-values',
]);

/**
 * Arguments that Davit always sets or handles itself. They are accepted and ignored, as charts are often deployed with
 * them elsewhere.
 */
const without = new Set([
  '--install',
  '-i',
  '--atomic',
  '--rollback-on-failure',
  '--cleanup-on-fail',
  '--force-conflicts',
  '--wait',
  '--hide-notes',
  '--render-subchart-notes',
]);

const reasons: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(?:-f|--values|--set|--set-)/, 'put values into values_override'],
  [/^--timeout/, 'set timeout_sec'],
  [
    /^--(?:version|devel|repo|username|password|ca-file|cert-file|key-file|keyring|verify|pass-credentials|plain-http|insecure)/,
    'the chart and its credentials are those of source',
  ],
  [
    /^(?:-n|--namespace|--create-namespace|--kube|--registry-config|--repository-)/,
    'Davit chooses cluster, namespace and account',
  ],
  [
    /^--force-replace$/,
    'Helm 4 does not replace objects that it applies server-side; delete the object that cannot be changed, or give it another name, and deploy again',
  ],
  [/^--post-render/, 'it runs a program on the machine of Davit'],
  [/^(?:--debug|-o|--output|--dry-run|-v)/, 'it prints values, which may be secret; forceEvent=DIFF shows what would change'],
];

const historyMax = /^--history-max=([1-9]\d{0,3})$/;
/**
 * Each revision is a Secret of up to a megabyte, and each deployment lists all of them. Larger numbers are lowered to
 * this one.
 */
const maxRevisions = 50;

/** A fault in one of the arguments of a chart. */
export interface HelmArgumentFault {
  readonly index: number;
  /** Name of the argument, without its value, which may be secret. */
  readonly name: string;
  /** Continues the name: `is not taken: ... Taken are ...`. */
  readonly message: string;
}

/** Returns the arguments of a chart that are refused; empty if all are accepted. Pure. */
export function helmArgumentFaults(given: readonly string[]): HelmArgumentFault[] {
  return readArguments(given).faults;
}

/** Returns the arguments for Helm. Fails with HELM_ARGUMENT_REFUSED, which names the first refused argument. Pure. */
export function checkedArguments(given: readonly string[]): string[] {
  const { taken, faults } = readArguments(given);
  const [fault] = faults;
  if (fault === undefined) return taken;
  throw new DriverError({ cause: 'HELM_ARGUMENT_REFUSED', message: `the argument ${fault.name} ${fault.message}` });
}

function readArguments(given: readonly string[]): { readonly taken: string[]; readonly faults: HelmArgumentFault[] } {
  const taken: string[] = [];
  const faults: HelmArgumentFault[] = [];
  let isRefused = false;
  given.forEach((one, index) => {
    if (given[index - 1] === '--history-max') return;
    // This may be the value of the refused argument before it, and secret.
    if (isRefused && !one.startsWith('-')) return;
    isRefused = false;
    const argument = one === '--history-max' ? `${one}=${given[index + 1] ?? ''}` : one;
    const plain = argument.replace(/=true$/, '');
    if (switches.has(plain)) taken.push(plain);
    else if (historyMax.test(argument)) {
      const revisions = Number(historyMax.exec(argument)?.[1]);
      taken.push(`--history-max=${Math.min(revisions, maxRevisions)}`);
    } else if (!without.has(plain) && !/^--wait=(?:watcher|legacy)$/.test(argument)) {
      faults.push(faultOf(argument, index));
      isRefused = one.startsWith('-') && !one.includes('=');
    }
  });
  return { taken, faults };
}

function faultOf(argument: string, index: number): HelmArgumentFault {
  // The text after the equals sign may be secret.
  const name = argument.split('=', 1)[0] ?? '';
  const reason = reasons.find(([pattern]) => pattern.test(name))?.[1];
  const allowed = [...switches, '--history-max'].toSorted().join(', ');
  return { index, name, message: `is not accepted${reason === undefined ? '' : `: ${reason}`}. Accepted are ${allowed}.` };
}
