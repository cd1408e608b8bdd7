import type { CallAnswer } from '@davit/client';

/** The state words of the API for services, environments and deployments. */
export type StateWord = CallAnswer<'getEnvironmentStatus'>['state'];
export type RunningWord = NonNullable<ServiceStatus['running_status']>;
export type EnvironmentDetails = CallAnswer<'getEnvironmentStatusesWithStages'>;
export type ServiceStatus = EnvironmentDetails['stages'][number]['applications'][number];
/** A deployment of an environment, as its history has it. */
export type Deployment = CallAnswer<'listEnvironmentDeploymentHistoryV2'>['results'][number];
export type Service = CallAnswer<'listServicesByEnvironmentId'>['results'][number];
export type ServiceType = Service['service_type'];

/** Each shape has one colour: a state is shown by shape, colour and word. */
export type Shape = 'ok' | 'go' | 'wait' | 'warn' | 'bad' | 'off';

const shapes: Readonly<Record<StateWord, Shape>> = {
  BUILDING: 'go',
  BUILD_ERROR: 'bad',
  CANCELED: 'off',
  CANCELING: 'go',
  DELETED: 'off',
  DELETE_ERROR: 'bad',
  DELETE_QUEUED: 'wait',
  DELETING: 'go',
  DEPLOYED: 'ok',
  DEPLOYING: 'go',
  DEPLOYMENT_ERROR: 'bad',
  DEPLOYMENT_QUEUED: 'wait',
  EXECUTING: 'go',
  QUEUED: 'wait',
  READY: 'off',
  RECAP: 'wait',
  RESTARTED: 'ok',
  RESTARTING: 'go',
  RESTART_ERROR: 'bad',
  RESTART_QUEUED: 'wait',
  STOPPED: 'off',
  STOPPING: 'go',
  STOP_ERROR: 'bad',
  STOP_QUEUED: 'wait',
  UNAVAILABLE: 'warn',
  WAITING_DELETING: 'wait',
  WAITING_RESTARTING: 'wait',
  WAITING_RUNNING: 'wait',
  WAITING_STOPPING: 'wait',
};
export const stateWords = Object.keys(shapes).filter((word): word is StateWord => word in shapes);

const runningShapes: Readonly<Record<RunningWord, Shape>> = {
  STARTING: 'go',
  RUNNING: 'ok',
  WARNING: 'warn',
  ERROR: 'bad',
  STOPPING: 'go',
  STOPPED: 'off',
  COMPLETED: 'ok',
};
export const runningWords = Object.keys(runningShapes).filter((word): word is RunningWord => word in runningShapes);

const allShapes: Readonly<Record<StateWord | RunningWord, Shape>> = { ...shapes, ...runningShapes };

export function shapeOf(word: StateWord | RunningWord): Shape {
  return allShapes[word];
}

/** Words of the API that are abbreviations. */
const abbreviations = /\b(api|aws|cli|gcp)\b/g;

/** Returns a word of the API in sentence case: DEPLOYMENT_ERROR is "Deployment error", API_TOKEN is "API token". */
export function sentence(word: string): string {
  const spaced = word.toLowerCase().replaceAll('_', ' ');
  const lower = spaced.replace(abbreviations, (abbreviation) => abbreviation.toUpperCase());
  return lower.charAt(0).toUpperCase() + lower.slice(1);
}

/** The states of a service, as the overview and the details of an environment have them. */
export interface States {
  readonly state: StateWord;
  readonly running_status?: RunningWord | null;
  readonly conditions?: readonly { readonly severity: 'ERROR' | 'WARNING' }[];
}

/**
 * Returns the two words about a service, the more urgent one first. A deployment that is under way or failed is more
 * urgent than what runs; otherwise what runs is.
 */
export function wordsOf(status: States): readonly [StateWord | RunningWord, (StateWord | RunningWord)?] {
  const { state, running_status: running } = status;
  if (running === null || running === undefined) return [state];
  const isSettled = shapeOf(state) === 'ok' || shapeOf(state) === 'off';
  const isTroubled = shapeOf(running) === 'bad' || shapeOf(running) === 'warn';
  return isSettled || (isTroubled && shapeOf(state) !== 'bad') ? [running, state] : [state, running];
}

/** Returns the shape for a service in one glance. */
export function shapeOfService(status: States): Shape {
  const shape = shapeOf(wordsOf(status)[0]);
  if (shape !== 'ok') return shape;
  const worst = status.conditions?.some(({ severity }) => severity === 'ERROR') === true ? 'bad' : 'warn';
  return (status.conditions?.length ?? 0) > 0 ? worst : shape;
}

export function isUnderWay(word: StateWord): boolean {
  return shapeOf(word) === 'go' || shapeOf(word) === 'wait';
}

/** Returns all services of an environment, in the order of its stages. */
export function servicesOf({ stages }: EnvironmentDetails): ServiceStatus[] {
  return stages.flatMap(servicesOfStage);
}

export function servicesOfStage(stage: EnvironmentDetails['stages'][number]): ServiceStatus[] {
  const { databases, terraforms, helms, jobs, containers, applications } = stage;
  return [databases, terraforms, helms, jobs, containers, applications].flat();
}

export const typeNames: Readonly<Record<ServiceType, string>> = {
  APPLICATION: 'Application',
  CONTAINER: 'Container',
  DATABASE: 'Database',
  JOB: 'Job',
  HELM: 'Helm chart',
  TERRAFORM: 'Terraform',
};

const databaseNames: Readonly<Record<string, string>> = {
  MONGODB: 'MongoDB',
  MYSQL: 'MySQL',
  POSTGRESQL: 'PostgreSQL',
  REDIS: 'Redis',
};

/** Returns the kind of a service in words: "PostgreSQL 17", "Application". */
export function kindName(service: Service): string {
  if (service.service_type === 'DATABASE') return `${databaseNames[service.type] ?? sentence(service.type)} ${service.version}`;
  if (service.service_type === 'JOB') return service.job_type === 'CRON' ? 'Cron job' : 'Lifecycle job';
  return typeNames[service.service_type];
}

/** Returns the number of a deployment in its environment: the last part of its id. */
export function deploymentNumber(executionId: string): string {
  return /-(\d+)$/.exec(executionId)?.[1] ?? executionId;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** How a line of a log looks. */
export type LineLook = 'info' | 'warn' | 'err';

/** Returns how a line looks whose level the API names so; null: the line names none. The page guesses nothing. */
export function lookOf(level: string | null): LineLook {
  if (level === 'ERROR') return 'err';
  return level === 'WARNING' ? 'warn' : 'info';
}
