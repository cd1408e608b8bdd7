import type { CronJob } from 'kubernetes-types/batch/v1.js';
import type { Container, PodSpec, Secret } from 'kubernetes-types/core/v1.js';
import type { ClusterSchedule } from '../../schedules.ts';
import type { Workload } from '../../workload.ts';
import { annotation, label, rolloutLabels, serviceLabels, type Labels } from '../names/labels.ts';
import { namespaceName, scheduleName } from '../names/names.ts';
import { withWanted } from './metadata.ts';
import { helperContainer, toPodSpec } from './pod.ts';
import type { ClusterSettings, ClusterTraits } from './settings.ts';

/** With this code the helper of a run ends when nobody read in time what it held. */
export const foldersLostCode = 3;

/** After the run's own time, so that Davit, when it is there, ends the run itself and keeps what it printed. */
const deadlineMarginSeconds = 30;
/** As many as Davit remembers of a job: what ended while it was down is found by it later. */
const keptRuns = 20;

/** A CronJob as it is asked for. */
export interface CronJobInput extends ClusterSchedule {
  /** As Kubernetes reads it. */
  readonly expression: string;
  readonly isSuspended: boolean;
}

/**
 * The schedule of a job. Its name tells expression and time zone: with others it is another CronJob, since Kubernetes would run at once what
 * the new times make look missed. Pure.
 */
export function toCronJob(
  { workload, expression, timezone, isSuspended, mostSeconds, mostRestarts, holdSeconds }: CronJobInput,
  { settings, traits }: { readonly settings: ClusterSettings; readonly traits: ClusterTraits },
): CronJob {
  const { owner, metadata: wanted } = workload;
  const labels = runLabels(workload);
  const annotations = {
    [annotation.name]: workload.name,
    'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  };
  const podSpec = withHeldFolders(toPodSpec(workload, settings, traits), { holdSeconds, mostSeconds });
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
      // No startingDeadlineSeconds: what came due while nobody could start it is started once, however long ago that was.
      suspend: isSuspended,
      successfulJobsHistoryLimit: keptRuns,
      failedJobsHistoryLimit: keptRuns,
      jobTemplate: {
        metadata: withWanted({ labels, annotations }, 'Job', wanted),
        spec: {
          backoffLimit: mostRestarts,
          activeDeadlineSeconds: mostSeconds + deadlineMarginSeconds,
          template: {
            metadata: withWanted({ labels, annotations }, 'Pod', wanted),
            // A Job that is too late removes its pod, and what that printed; a pod that is too late stays.
            spec: { ...podSpec, activeDeadlineSeconds: mostSeconds },
          },
        },
      },
    },
  };
}

/** Of all runs of a schedule: see `withRunLabels`. */
function runLabels(workload: Workload): Labels {
  return {
    ...serviceLabels(workload.owner, 'instance'),
    [label.release]: workload.release,
    [label.schedule]: workload.rollout,
  };
}

/** The values of a schedule stay as long as it does, or a run of it. Pure. */
export function asScheduleValues(secret: Secret, { rollout }: Workload): Secret {
  const { metadata } = secret;
  return { ...secret, metadata: { ...metadata, labels: { ...metadata?.labels, [label.schedule]: rollout } } };
}

interface HeldTimes {
  readonly holdSeconds: number;
  readonly mostSeconds: number;
}

/**
 * A helper that ends with the process, as the next run must not wait for it: a sidecar (Kubernetes 1.29). Is there something in the folders,
 * it holds it for a while first.
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

// The pod's time counts from when the node took it, a little before its helper begins.
const beforeDeadlineSeconds = 15;

// A run that ended well would fail, and might be repeated, if its helper held on until the time of the pod is over.
function holding({ volumeMounts = [] }: Container, { holdSeconds, mostSeconds }: HeldTimes): string {
  const quoted = volumeMounts.map(({ mountPath }) => `'${mountPath.replaceAll("'", String.raw`'\''`)}'`);
  const all = quoted.flatMap((folder) => [`${folder}/*`, `${folder}/.[!.]*`]).join(' ');
  const wait = `if [ $left -gt 0 ]; then sleep $left & wait $!; fi; exit ${foldersLostCode}`;
  return [
    `until=$(($(date +%s) + ${mostSeconds - beforeDeadlineSeconds}))`,
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
