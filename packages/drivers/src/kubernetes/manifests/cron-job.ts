import type { CronJob } from 'kubernetes-types/batch/v1.js';
import type { Container, PodSpec, Secret } from 'kubernetes-types/core/v1.js';
import type { ClusterSchedule } from '../../schedules.ts';
import type { Workload } from '../../workload.ts';
import { annotation, label, rolloutLabels, serviceLabels } from '../names/labels.ts';
import type { Labels } from '../../shared/labels.ts';
import { namespaceName, scheduleName } from '../names/names.ts';
import { withWanted } from './metadata.ts';
import { helperContainer, toPodSpec } from './pod.ts';
import type { ClusterSettings, ClusterTraits } from './settings.ts';

/** Exit code of a run's helper if nobody read the held folders in time. */
export const foldersLostCode = 3;

/** Seconds beyond the run's own time limit. If Davit is up, it ends the run itself first and keeps the output. */
const deadlineMarginSeconds = 30;
/**
 * Number of runs kept, as many as Davit remembers of a job. Davit finds the runs that ended while it was down later.
 */
const keptRuns = 20;

/** The input for a CronJob. */
export interface CronJobInput extends ClusterSchedule {
  /** Cron expression in the syntax of Kubernetes. */
  readonly expression: string;
  readonly isSuspended: boolean;
}

/**
 * Returns the CronJob of a schedule. Its name depends on the expression and the time zone. A changed schedule thus gets
 * another CronJob: Kubernetes would immediately start runs that the new times make look missed. Pure.
 */
export function toCronJob(
  { workload, expression, timezone, isSuspended, maxSeconds, maxRestarts, holdSeconds }: CronJobInput,
  { settings, traits }: { readonly settings: ClusterSettings; readonly traits: ClusterTraits },
): CronJob {
  const { owner, metadata: wanted } = workload;
  const labels = runLabels(workload);
  const annotations = {
    [annotation.name]: workload.name,
    'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  };
  const podSpec = withHeldFolders(toPodSpec(workload, settings, traits), { holdSeconds, maxSeconds });
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: withWanted(
      {
        name: scheduleName(workload, { expression, timezone }),
        namespace: namespaceName(owner.installation, owner.environment),
        labels: rolloutLabels(workload, 'schedule'),
        annotations: { [annotation.name]: workload.name },
      },
      'CronJob',
      wanted,
    ),
    spec: {
      schedule: expression,
      timeZone: timezone,
      concurrencyPolicy: 'Forbid',
      // There is no startingDeadlineSeconds: a run that was due while nobody could start it is started once, however
      // long ago it was due.
      suspend: isSuspended,
      successfulJobsHistoryLimit: keptRuns,
      failedJobsHistoryLimit: keptRuns,
      jobTemplate: {
        metadata: withWanted({ labels, annotations }, 'Job', wanted),
        spec: {
          backoffLimit: maxRestarts,
          activeDeadlineSeconds: maxSeconds + deadlineMarginSeconds,
          template: {
            metadata: withWanted({ labels, annotations }, 'Pod', wanted),
            // A Job that exceeds its deadline deletes its pod and the pod's output. A pod that exceeds its deadline
            // stays.
            spec: { ...podSpec, activeDeadlineSeconds: maxSeconds },
          },
        },
      },
    },
  };
}

/** Returns the labels of all runs of a schedule. See `withRunLabels`. */
function runLabels(workload: Workload): Labels {
  return {
    ...serviceLabels(workload.owner, 'instance'),
    [label.release]: workload.release,
    [label.schedule]: workload.rollout,
  };
}

/** Returns a Secret that is kept as long as its schedule, or a run of the schedule, exists. Pure. */
export function asScheduleValues(secret: Secret, { rollout }: Workload): Secret {
  const { metadata } = secret;
  return { ...secret, metadata: { ...metadata, labels: { ...metadata?.labels, [label.schedule]: rollout } } };
}

interface HeldTimes {
  readonly holdSeconds: number;
  readonly maxSeconds: number;
}

/**
 * Makes the helper a sidecar (Kubernetes 1.29), which ends with the process, because the next run must not wait for the
 * helper. If the folders contain anything, the helper holds them for a while first.
 */
function withHeldFolders(spec: PodSpec, times: HeldTimes): PodSpec {
  const helper = spec.containers.find(({ name }) => name === helperContainer);
  if (helper === undefined) return spec;
  const grace = spec.terminationGracePeriodSeconds ?? 0;
  return {
    ...spec,
    terminationGracePeriodSeconds: grace + times.holdSeconds,
    initContainers: [{ ...helper, restartPolicy: 'Always', command: ['/bin/sh', '-c', holding(helper, times)] }],
    containers: spec.containers.filter((one) => one !== helper),
  };
}

// The deadline of the pod counts from when the node accepted the pod, a little before its helper starts.
const beforeDeadlineSeconds = 15;

// The helper stops before the deadline of the pod. Otherwise a run that ended well would fail, and might be repeated.
function holding({ volumeMounts = [] }: Container, { holdSeconds, maxSeconds }: HeldTimes): string {
  const quoted = volumeMounts.map(({ mountPath }) => `'${mountPath.replaceAll("'", String.raw`'\''`)}'`);
  const all = quoted.flatMap((folder) => [`${folder}/*`, `${folder}/.[!.]*`]).join(' ');
  const wait = `if [ $left -gt 0 ]; then sleep $left & wait $!; fi; exit ${foldersLostCode}`;
  return [
    `until=$(($(date +%s) + ${maxSeconds - beforeDeadlineSeconds}))`,
    'hold() {',
    '  left=$((until - $(date +%s)))',
    `  if [ $left -gt ${holdSeconds} ]; then left=${holdSeconds}; fi`,
    `  for file in ${all}; do if [ -e "$file" ]; then ${wait}; fi; done`,
    '  exit 0',
    '}',
    'trap hold TERM',
    'while :; do sleep 3600 & wait $!; done',
  ].join('\n');
}
