import type { Action, JobEvent, ReleaseConfig } from '../../packages/engine/src/model.ts';
import { planStages } from '../../packages/engine/src/plan/plan.ts';
import { config, terraformSource } from '../../packages/engine/src/testing/config.ts';

/** What is done to whom while a deployment is at one of its points. */
export interface CrashCase {
  /** A line that says all of it; no other case has the same. */
  readonly name: string;
  readonly subject: SubjectName;
  readonly action: Action;
  readonly fault: Fault;
  /** As `crash-point.ts` has them. */
  readonly point: string;
}

export type Fault = 'killed' | 'database cut' | 'engine restarted' | 'disk full' | 'canceled';
export type SubjectName = keyof typeof subjects;

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

/**
 * Each kind of service as the planner sees it, and what can be asked of it: the steps of the cases are those that the planner
 * gives, so that a step which is added is killed in by the next run.
 */
const subjects = {
  application: { config: config(), actions: processActions },
  'application with a volume': { config: config({ volumes: volume }), actions: processActions },
  container: { config: config({ source: image }), actions: processActions },
  database: { config: config({ source: image, volumes: volume }), actions: processActions },
  job: { config: config(events('START', 'STOP', 'DELETE')), actions: ['DEPLOY', 'STOP', 'UNINSTALL', 'DELETE'] },
  'cron job': { config: config(events('CRON')), actions: ['DEPLOY', 'STOP', 'DELETE'] },
  terraform: { config: config({ source: terraformSource() }), actions: ['DEPLOY', 'UNINSTALL', 'DELETE'] },
} as const satisfies Record<string, { readonly config: ReleaseConfig; readonly actions: readonly Action[] }>;

/** Where the server is killed: before a step, after it was done but not recorded, and after it was recorded. */
const moments = ['before', 'after', 'recorded'] as const;
/** Steps that put something onto the engine's disk. */
const filling: readonly string[] = ['build', 'pull', 'start', 'launch'];

/** Every kind of service, action, fault and point: the whole matrix, in one order. */
export const crashCases: readonly CrashCase[] = Object.keys(subjects).flatMap((name) => {
  if (!isSubject(name)) throw new Error(`${name} is no subject`);
  return subjects[name].actions.flatMap((action) => casesOf(name, action));
});

function casesOf(subject: SubjectName, action: Action): CrashCase[] {
  const steps = stepsOf(subject, action);
  const one = (fault: Fault, point: string): CrashCase => ({
    name: `${subject}, ${action}, ${fault} at ${point}`,
    subject,
    action,
    fault,
    point,
  });
  const usesEngine = subject !== 'terraform';
  return [
    ...steps.flatMap((step) => moments.map((moment) => one('killed', `${step}:${moment}`))),
    one('killed', 'finish:before'),
    one('killed', 'finish:after'),
    ...steps.map((step) => one('canceled', `${step}:before`)),
    // Done, and the record of it cannot be written.
    ...steps.map((step) => one('database cut', `${step}:after`)),
    ...(usesEngine ? steps.map((step) => one('engine restarted', `${step}:before`)) : []),
    ...(usesEngine ? steps.filter((step) => filling.includes(step)).map((step) => one('disk full', `${step}:before`)) : []),
  ];
}

function stepsOf(subject: SubjectName, action: Action): readonly string[] {
  const [stage] = planStages(action, [
    {
      serviceId: 's',
      stageName: 'x',
      stagePosition: 1,
      config: subjects[subject].config,
      hasImage: false,
      serviceType: subject === 'terraform' ? 'TERRAFORM' : 'APPLICATION',
    },
  ]);
  const task = stage?.tasks[0];
  return task === undefined ? [] : [...task.build, ...task.deploy];
}

function isSubject(name: string): name is SubjectName {
  return Object.hasOwn(subjects, name);
}
