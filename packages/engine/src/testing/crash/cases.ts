import type { Action, JobEvent, ReleaseConfig } from '../../model.ts';
import { planStages, type StepName } from '../../plan/plan.ts';
import { steps as stepsByName } from '../../steps/index.ts';
import { config, helmSource, terraformSource } from '../config.ts';

/** What is done to a service while its deployment is at one of its points. */
export interface CrashCase<Name extends SubjectName = SubjectName> {
  /** One line that says all of it. No other case has the same. */
  readonly name: string;
  readonly subject: Name;
  readonly action: Action;
  readonly fault: Fault;
  /** As `run/crash-point.ts` names them. */
  readonly point: string;
  /** The point at which the deployment fails each time, so that it comes to the points of undoing. */
  readonly failsAt?: string;
}

export type Fault =
  | 'killed'
  | 'killed twice'
  | 'database cut'
  | 'engine restarted'
  | 'disk full'
  | 'canceled'
  | 'killed while it is undone';
export type SubjectName = keyof typeof subjects;
/** Of those that the matrix on real engines has. */
export type EngineSubjectName = {
  [Name in SubjectName]: (typeof subjects)[Name] extends { readonly inMemoryOnly: true } ? never : Name;
}[SubjectName];

interface CrashSubject {
  readonly serviceType: string;
  readonly config: ReleaseConfig;
  readonly actions: readonly Action[];
  /** Whether it runs on the container engine, so that a restart and a full disk of the engine concern it. */
  readonly usesEngine: boolean;
  /** Left out of the matrix on real engines, where its steps are those of another subject, or need another cluster. */
  readonly inMemoryOnly?: true;
}

const events = (...names: readonly JobEvent[]): Partial<ReleaseConfig> => ({
  job: {
    events: Object.fromEntries(names.map((name) => [name, { entrypoint: [], arguments: [] }])),
    schedule: null,
    maximumRestarts: 0,
    maximumSeconds: null,
  },
});
const image: ReleaseConfig['source'] = { type: 'IMAGE', image: 'x', tag: '1', registryId: null };
const volume = [{ id: 'v', mountPath: '/data', sizeGiB: 1 }];
const processActions: readonly Action[] = ['DEPLOY', 'RESTART', 'STOP', 'UNINSTALL', 'DELETE'];
const process = { serviceType: 'APPLICATION', actions: processActions, usesEngine: true } as const;
const job = { serviceType: 'JOB', usesEngine: true } as const;

/**
 * Each kind of service as the planner sees it, and what can be asked of it. The planner gives the steps of the cases, so that
 * the next run also interrupts a step that was added since.
 */
const subjects = {
  application: { ...process, config: config() },
  'application with a volume': { ...process, config: config({ volumes: volume }) },
  container: { ...process, serviceType: 'CONTAINER', config: config({ source: image }) },
  'container with three instances': {
    ...process,
    serviceType: 'CONTAINER',
    config: config({ source: image, instances: 3 }),
    inMemoryOnly: true,
  },
  database: { ...process, serviceType: 'DATABASE', config: config({ source: image, volumes: volume }) },
  job: { ...job, config: config(events('START', 'STOP', 'DELETE')), actions: ['DEPLOY', 'STOP', 'UNINSTALL', 'DELETE'] },
  'cron job': { ...job, config: config(events('CRON')), actions: ['DEPLOY', 'STOP', 'DELETE'] },
  terraform: {
    serviceType: 'TERRAFORM',
    config: config({ source: terraformSource() }),
    actions: ['DEPLOY', 'UNINSTALL', 'DELETE'],
    usesEngine: false,
  },
  chart: {
    serviceType: 'HELM',
    config: config({ source: helmSource() }),
    actions: ['DEPLOY', 'STOP', 'UNINSTALL', 'DELETE'],
    usesEngine: false,
    inMemoryOnly: true,
  },
} as const satisfies Record<string, CrashSubject>;

/** Where a deployment is interrupted: before a step, after it was done but not recorded, and after it was recorded. */
const moments = ['before', 'after', 'recorded'] as const;
/** Steps that put something onto the engine's disk. */
const filling: readonly StepName[] = ['build', 'pull', 'start', 'launch'];

const subjectNames = Object.keys(subjects).filter(isSubject);

/** Each kind of service, action, fault and point that a real engine can meet, in one order. */
export const crashCases: readonly CrashCase<EngineSubjectName>[] = subjectNames
  .filter(isEngineSubject)
  .flatMap((name) => subjects[name].actions.flatMap((action) => casesOf(name, action)));

/** The same and more: what takes seconds on a real engine and next to nothing on the cluster in memory. */
export const casesInMemory: readonly CrashCase[] = subjectNames.flatMap((name) =>
  subjects[name].actions.flatMap((action) => [...casesOf(name, action), ...furtherCasesOf(name, action)]),
);

function casesOf<Name extends SubjectName>(subject: Name, action: Action): CrashCase<Name>[] {
  const { steps, one, usesEngine } = partsOf(subject, action);
  return [
    ...steps.flatMap((step) => moments.map((moment) => one('killed', `${step}:${moment}`))),
    one('killed', 'finish:before'),
    one('killed', 'finish:after'),
    ...steps.map((step) => one('canceled', `${step}:before`)),
    // The step is done, and its record cannot be written.
    ...steps.map((step) => one('database cut', `${step}:after`)),
    ...(usesEngine ? steps.map((step) => one('engine restarted', `${step}:before`)) : []),
    ...(usesEngine ? steps.filter((step) => filling.includes(step)).map((step) => one('disk full', `${step}:before`)) : []),
  ];
}

function furtherCasesOf<Name extends SubjectName>(subject: Name, action: Action): CrashCase<Name>[] {
  const { steps, one, usesEngine } = partsOf(subject, action);
  return [
    ...steps.flatMap((step) => [one('killed twice', `${step}:before`), one('killed twice', `${step}:after`)]),
    ...steps.flatMap((step) => [one('canceled', `${step}:after`), one('canceled', `${step}:recorded`)]),
    ...steps.flatMap((step) => [one('database cut', `${step}:before`), one('database cut', `${step}:recorded`)]),
    ...(usesEngine ? steps.map((step) => one('engine restarted', `${step}:recorded`)) : []),
    ...casesOfUndo(subject, action),
  ];
}

/** Each undo of a step, interrupted before and behind it, so that the next runner does it again. */
function casesOfUndo<Name extends SubjectName>(subject: Name, action: Action): CrashCase<Name>[] {
  const { steps, one } = partsOf(subject, action);
  if (action !== 'DEPLOY' && action !== 'RESTART') return [];
  const undone = steps.filter((step) => stepsByName[step].undo !== undefined);
  const last = undone.at(-1);
  if (last === undefined) return [];
  // From the change of routes on there is no way back.
  const failing = last === 'route' ? last : steps[steps.indexOf(last) + 1];
  return undone.flatMap((step) =>
    ['before', 'after'].map((moment) => ({
      ...one('killed while it is undone', `undo-${step}:${moment}`),
      failsAt: `${failing}:before`,
    })),
  );
}

function partsOf<Name extends SubjectName>(subject: Name, action: Action) {
  const one = (fault: Fault, point: string): CrashCase<Name> => ({
    name: `${subject}, ${action}, ${fault} at ${point}`,
    subject,
    action,
    fault,
    point,
  });
  return { steps: stepsOf(subject, action), one, usesEngine: subjects[subject].usesEngine };
}

function stepsOf(subject: SubjectName, action: Action): readonly StepName[] {
  const { config: release, serviceType } = subjects[subject];
  const service = { serviceId: 's', stageName: 'x', stagePosition: 1, config: release, hasImage: false, serviceType };
  const task = planStages(action, [service])[0]?.tasks[0];
  return task === undefined ? [] : [...task.build, ...task.deploy];
}

function isSubject(name: string): name is SubjectName {
  return Object.hasOwn(subjects, name);
}

function isEngineSubject(name: SubjectName): name is EngineSubjectName {
  return !('inMemoryOnly' in subjects[name]);
}
