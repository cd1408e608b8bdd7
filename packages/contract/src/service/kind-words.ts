import type { Kind } from './kinds.ts';

/*
 * Sentences of shared operations whose effect differs between service types. They are short, and they repeat each
 * other, because repeated text takes hardly any room in the compressed document.
 */

type ByType = Readonly<Record<Kind['type'], string>>;

/** The effect of a deletion. */
export const deletion: ByType = {
  APPLICATION: 'Deletes the application with its data, variables and custom domains.',
  CONTAINER: 'Deletes the container with its data, variables and custom domains.',
  DATABASE: 'Deletes the database with its data. Its backups are kept for seven days by default.',
  JOB: 'Deletes the job with its variables. A lifecycle job runs `on_delete` first.',
  HELM: 'Uninstalls the chart, and deletes its record, data, variables and custom domains.',
  TERRAFORM: 'Destroys the resources of the configuration, then deletes its record, state and variables.',
};

const configured = 'with the current configuration and variables';

/** The version that a redeployment deploys, and its effect on what runs. */
export const redeployment: ByType = {
  APPLICATION: `Deploys the deployed commit again, ${configured}. Unchanged instances stay.`,
  CONTAINER: `Deploys the configured tag again, ${configured}. Unchanged instances stay.`,
  DATABASE: `Deploys the database again, ${configured}. Unchanged instances stay.`,
  JOB: `Deploys the deployed commit or the configured tag again, ${configured}. A lifecycle job runs \`on_start\`.`,
  HELM: `Deploys the deployed commit or the configured version again, ${configured}.`,
  TERRAFORM: `Deploys the deployed commit again, ${configured}.`,
};

/** Returns the effect of an uninstallation. */
export function uninstallation({ type }: Kind): string {
  const removal = 'Removes the service from the cluster, data included.';
  return type === 'JOB' ? `${removal} A lifecycle job runs \`on_delete\` first.` : removal;
}

/** Returns the effect of a restart. */
export function restart({ type }: Kind): string {
  return type === 'DATABASE'
    ? 'Stops the database and starts the deployed release again; its data stays.'
    : `Starts new instances of the deployed release, then stops the former ones. With a volume, a public UDP port or the
       update strategy Recreate, the former ones stop first.`;
}

/** Returns the effect of a stop. */
export function stop({ type }: Kind): string {
  switch (type) {
    case 'JOB':
      return 'Runs `on_stop` of a lifecycle job, or ends the schedule of a cron job; the configuration stays.';
    case 'HELM':
      return 'Stops the workloads of the chart; volumes and configuration stay.';
    default:
      return 'Stops all instances; volumes and configuration stay.';
  }
}

/** Returns what a user does after the creation. Databases have no variables of their own. */
export function nextStep({ type }: Kind): string {
  return type === 'DATABASE' ? 'deploy it' : 'add variables, then deploy';
}

/** Returns the paragraph about the variables that other services get; empty for types that give none. */
export function provides({ type }: Kind): string {
  return type === 'DATABASE'
    ? `

       Other services of the environment get built-in variables with their next deployment:
       \`DAVIT_<type>_Z<first 8 digits of the id>_\` with \`HOST\`, \`HOST_INTERNAL\`, \`PORT\`, \`LOGIN\`,
       \`DEFAULT_DATABASE_NAME\`, and as secrets \`PASSWORD\`, \`DATABASE_URL\` and \`DATABASE_URL_INTERNAL\`.`
    : '';
}

/** Returns whether a deployment takes the `release_id` of an earlier release. */
export function hasRollback({ type }: Kind): boolean {
  return type !== 'DATABASE' && type !== 'TERRAFORM';
}

/** Returns the row for public ports in the table of error codes; empty for types without such ports. */
export function portRow({ type }: Kind): string {
  return type === 'APPLICATION' || type === 'CONTAINER'
    ? '\n| `IN_USE` (409) | Another service has the `external_port`. | Choose another port, or leave it out. |'
    : '';
}
