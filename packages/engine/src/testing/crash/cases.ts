import type { Action, JobEvent, ReleaseConfig } from '../../model.ts';
import { planStages, type StepName } from '../../plan/plan.ts';
import { allKinds } from '../../kinds/index.ts';
import { Kinds } from '../../kinds/kinds.ts';
import { config, helmSource, terraformSource } from '../config.ts';

/** A fault that hits a service while its deployment is at one crash point. */
export interface CrashCase<Name extends SubjectName = SubjectName> {
  /** The unique name of the case: subject, action, fault and point on one line. */
  readonly name: string;
  readonly subject: Name;
  readonly action: Action;
  readonly fault: Fault;
  /** The crash point, named as in `shared/crash-point.ts`. */
  readonly point: string;
  /** The point at which the deployment always fails, so that it reaches the crash points of the undo. */
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
/** The subjects that the matrix on real engines includes. */
export type EngineSubjectName = {
  [Name in SubjectName]: (typeof subjects)[Name] extends { readonly inMemoryOnly: true } ? never : Name;
}[SubjectName];

interface CrashSubject {
  readonly serviceType: string;
  readonly config: ReleaseConfig;
  readonly actions: readonly Action[];
  /** Whether the subject runs on the container engine, so that engine restarts and a full engine disk affect it. */
  readonly usesEngine: boolean;
  /**
   * Set for subjects that the matrix on real engines leaves out: another subject has the same steps, or the subject
   * needs another kind of cluster.
   */
  readonly inMemoryOnly?: true;
}

const kinds = new Kinds(allKinds);

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
 * Each kind of service as the planner receives it, with its actions. The planner returns the steps of the cases, so a
 * step added later is interrupted as soon as the planner includes it.
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

/**
 * The moments of a step at which a deployment is interrupted: before the step, after the step but before its record,
 * and after its record.
 */
const moments = ['before', 'after', 'recorded'] as const;
/** The points of the end of former instances, which the keeper ends beside or after the deployment. */
const endPoints = ['end:before', 'end:drained', 'end:after'] as const;
/** Steps that write to the disk of the engine. */
const filling: readonly StepName[] = ['build', 'pull', 'start', 'launch'];

const subjectNames = Object.keys(subjects).filter(isSubject);

/** Every combination of service kind, action, fault and point that a real engine can meet, in a fixed order. */
export const crashCases: readonly CrashCase<EngineSubjectName>[] = subjectNames
  .filter(isEngineSubject)
  .flatMap((name) => subjects[name].actions.flatMap((action) => casesOf(name, action)));

/**
 * `crashCases` and further cases that take seconds each on a real engine but almost no time on the cluster in memory.
 */
export const casesInMemory: readonly CrashCase[] = subjectNames.flatMap((name) =>
  subjects[name].actions.flatMap((action) => [...casesOf(name, action), ...furtherCasesOf(name, action)]),
);

function casesOf<Name extends SubjectName>(subject: Name, action: Action): CrashCase<Name>[] {
  const { steps, one, usesEngine, hasEnd } = partsOf(subject, action);
  return [
    ...steps.flatMap((step) => moments.map((moment) => one('killed', `${step}:${moment}`))),
    ...(hasEnd ? endPoints.map((point) => one('killed', point)) : []),
    ...(hasEnd ? [one('database cut', 'end:drained'), one('engine restarted', 'end:drained')] : []),
    one('killed', 'finish:before'),
    one('killed', 'finish:after'),
    ...steps.map((step) => one('canceled', `${step}:before`)),
    // The step is done, but its record cannot be written.
    ...steps.map((step) => one('database cut', `${step}:after`)),
    ...(usesEngine ? steps.map((step) => one('engine restarted', `${step}:before`)) : []),
    ...(usesEngine ? steps.filter((step) => filling.includes(step)).map((step) => one('disk full', `${step}:before`)) : []),
  ];
}

function furtherCasesOf<Name extends SubjectName>(subject: Name, action: Action): CrashCase<Name>[] {
  const { steps, one, usesEngine, hasEnd } = partsOf(subject, action);
  return [
    // After `end:after` nothing is left that could be interrupted once more.
    ...(hasEnd ? [one('killed twice', 'end:before'), one('killed twice', 'end:drained')] : []),
    ...steps.flatMap((step) => [one('killed twice', `${step}:before`), one('killed twice', `${step}:after`)]),
    ...steps.flatMap((step) => [one('canceled', `${step}:after`), one('canceled', `${step}:recorded`)]),
    ...steps.flatMap((step) => [one('database cut', `${step}:before`), one('database cut', `${step}:recorded`)]),
    ...(usesEngine ? steps.map((step) => one('engine restarted', `${step}:recorded`)) : []),
    ...casesOfUndo(subject, action),
  ];
}

/** Returns cases that interrupt each undo before and after it, so that the next runner repeats the undo. */
function casesOfUndo<Name extends SubjectName>(subject: Name, action: Action): CrashCase<Name>[] {
  const { steps, one } = partsOf(subject, action);
  if (action !== 'DEPLOY' && action !== 'RESTART') return [];
  const undone = steps.filter((step) => kinds.step(step).undo !== undefined);
  const last = undone.at(-1);
  if (last === undefined) return [];
  // Once the routes have changed, the deployment can no longer be undone.
  const failing = kinds.step(last).onlyForward === 'ONCE_DONE' ? last : steps[steps.indexOf(last) + 1];
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
  const steps = stepsOf(subject, action);
  // Where the old instances stop first, none is left to end.
  const hasEnd = steps.includes('retire') && !steps.includes('halt');
  return { steps, one, usesEngine: subjects[subject].usesEngine, hasEnd };
}

function stepsOf(subject: SubjectName, action: Action): readonly StepName[] {
  const { config: release, serviceType } = subjects[subject];
  const service = { serviceId: 's', stageName: 'x', stagePosition: 1, config: release, hasImage: false, serviceType };
  const task = planStages(kinds, action, [service])[0]?.tasks[0];
  return task === undefined ? [] : [...task.build, ...task.deploy];
}

function isSubject(name: string): name is SubjectName {
  return Object.hasOwn(subjects, name);
}

function isEngineSubject(name: SubjectName): name is EngineSubjectName {
  return !('inMemoryOnly' in subjects[name]);
}
