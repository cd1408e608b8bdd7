import { rm } from 'node:fs/promises';
import {
  DriverError,
  type ChartAccess,
  type ChartObject,
  type ChartRef,
  type ClusterCharts,
  type HelmSession,
} from '@davit/drivers';
import { chartSourceOf } from './plan.ts';
import { fetchChart, helmOf, installOf, isFetched } from './fetch.ts';
import { releaseName } from './ref.ts';
import { ClusterUnreachable } from '../../shared/cluster-drivers.ts';
import { applyRoutes } from '../../routes/cluster-routes.ts';
import { leaveOthers } from '../../former-clusters/leave-cluster.ts';
import type { BuildCommit, ReleaseConfig } from '../../model.ts';
import { isInstalled, repairOf } from './repair.ts';
import { beginRuntime } from '../../store/terraform.ts';
import { checkoutFolder } from '../../steps/image.ts';
import {
  configOf,
  driverSet,
  noteDeployed,
  noteHere,
  ownerOf,
  type Step,
  type StepContext,
  type StepOutput,
} from '../../steps/step.ts';

/*
 * A chart is installed by Helm, a program on this machine. The cluster stores for each revision which deployment made
 * it. A runner that continues after a crash, a failure or a cancel can therefore find out what is installed, and
 * restore what was deployed before.
 */

const fetchSeconds = 1_800;
const daySeconds = 86_400;
const readyAgainMilliseconds = 900_000;
/** Seconds added to Helm's own timeout. */
const marginSeconds = 300;

interface Obtained extends StepOutput {
  readonly commit?: BuildCommit;
  /** Commit of the repository of the chart's values. */
  readonly valuesCommit?: string;
}

/** Fetches the chart and resolves the commits. */
export const obtainChart: Step<Obtained> = {
  name: 'obtain-chart',
  metric: 'DEPLOYMENT',
  deadlineSeconds: fetchSeconds,
  cancelable: true,
  async run(context) {
    chartsOf(context);
    await fetchChart(context);
    const { commit, valuesCommit } = context.task;
    return { ...(commit !== null && { commit }), ...(valuesCommit !== null && { valuesCommit }) };
  },
  resume(task, output) {
    task.commit = output.commit ?? null;
    task.valuesCommit = output.valuesCommit ?? null;
  },
  undo: removeRun,
};

/** Installs or upgrades the release, and waits until it is ready. */
export const install: Step = {
  name: 'install',
  metric: 'DEPLOYMENT',
  deadlineSeconds: (context) => 3 * helmSeconds(context) + marginSeconds,
  cancelable: true,
  async run(context) {
    const { task, call, deployment } = context;
    const charts = chartsOf(context);
    const chart = refOf(context);
    if (!(await isFetched(context))) await fetchChart(context);
    await noteHere(context);
    // From here on the cluster may have objects of the chart, which a deletion has to check.
    const { organization_id: organization, project_id: project, environment_id: environment } = deployment;
    await context.journal.writeAny(beginRuntime, [
      task.serviceId,
      organization,
      project,
      environment,
      task.driver,
      task.releaseId,
    ]);
    const isThere = isInstalled(await ownRevisions(context), task.rollout);
    if (isThere) call.log('It was already installed before Davit stopped.');
    // Every attempt wakes a stopped release, because it is unknown whether an earlier attempt did.
    const wakes = task.former?.desired === 'STOPPED';
    if (isThere && !wakes) return {};
    if (!isThere) await repair(context, { waits: false });
    await using(context, { installs: true }, async (session) => {
      const objects = await render(context, session);
      await refuseOutside(context, objects);
      const upgrade = async (signal: AbortSignal): Promise<void> => {
        if (!isThere) await session.upgrade({ ...call, signal });
        // The wake follows the upgrade, so that nothing of the stopped version starts again.
        if (wakes) await charts.wake(chart, objects, helmSeconds(context), signal);
      };
      await charts.whileWatched(chart, objects, upgrade, call);
    });
    return {};
  },
  mustBeUndone: true,
  async undo(context) {
    try {
      await bringBack(context);
    } finally {
      await removeRun(context);
    }
  },
};

/** Records the deployed release. */
export const settleChart: Step = {
  name: 'settle-chart',
  metric: 'DEPLOYMENT',
  deadlineSeconds: 300,
  cancelable: false,
  async run(context) {
    const { task, parts, call } = context;
    try {
      await noteDeployed(context, { desired: 'RUNNING', runningStatus: 'RUNNING', instances: null });
      const to = { owner: ownerOf(context), rollout: task.rollout, config: configOf(task) };
      const led = await applyRoutes(parts, task.driver, to, call.signal);
      for (const remark of led ?? []) call.log(remark);
      await leaveElsewhere(context);
    } finally {
      // No later step needs the chart, nor the secrets of its values.
      await removeRun(context);
    }
    return {};
  },
};

/** Logs what a deployment would change. */
export const diff: Step = {
  name: 'diff',
  metric: 'DEPLOYMENT',
  deadlineSeconds: (context) => helmSeconds(context) + marginSeconds,
  cancelable: true,
  async run(context) {
    const { call } = context;
    if (!(await isFetched(context))) await fetchChart(context);
    const isInstalled = (await ownRevisions(context)).length > 0;
    const lines = await using(context, { installs: true }, (session) => session.diff({ isInstalled }, call));
    for (const line of lines) call.log(line);
    call.log(lines.length === 0 ? 'Nothing would change.' : 'Nothing was changed: this deployment has forceEvent=DIFF.');
    await removeRun(context);
    return {};
  },
};

/** Stops the workloads of the release. Helm keeps the release. */
export const haltChart: Step = {
  name: 'halt-chart',
  metric: 'DEPLOYMENT',
  deadlineSeconds: 900,
  cancelable: false,
  async run(context) {
    await chartsOf(context).stop(refOf(context), context.call);
    context.call.log('The workloads of the chart are stopped.');
    return {};
  },
};

/** Removes the release with everything that it created. */
export const uninstall: Step = {
  name: 'uninstall',
  metric: 'DEPLOYMENT',
  // Doubled, because a hook of the chart may use up the whole timeout.
  deadlineSeconds: (context) => 2 * helmSeconds(context) + marginSeconds,
  cancelable: false,
  async run(context) {
    const { call } = context;
    const { charts } = driverSet(context).cluster;
    if (charts === undefined || (await ownRevisions(context)).length === 0) {
      call.log('No release of the chart is installed.');
      await charts?.removeClaims(refOf(context), call.signal);
      return {};
    }
    await uninstallHere(context, charts);
    await removeRun(context);
    return {};
  },
};

/** Restores what was deployed before, if something else is installed by now. */
async function bringBack(context: StepContext): Promise<void> {
  const { task, call } = context;
  const { charts } = driverSet(context).cluster;
  if (charts === undefined) return;
  const former = formerRollout(context);
  const { type } = repairOf(await ownRevisions(context), former);
  if (type === 'UNINSTALL' && former === null) await uninstallHere(context, charts);
  else if (type !== 'NOTHING') await repairReady(context);
  else if (former === null) await charts.removeClaims(refOf(context), call.signal);
  if (type === 'ROLLBACK' && task.former?.desired === 'STOPPED') await charts.stop(refOf(context), call);
}

/**
 * Restores what was deployed before and waits until it is ready. If that takes too long or the user forces the cancel,
 * restores it without waiting.
 */
async function repairReady(context: StepContext): Promise<void> {
  const { call } = context;
  const limits = [AbortSignal.timeout(readyAgainMilliseconds), ...(call.force === undefined ? [] : [call.force])];
  const signal = AbortSignal.any([call.signal, ...limits]);
  try {
    return await repair({ ...context, call: { ...call, signal } }, { waits: true });
  } catch (error) {
    if (call.signal.aborted || error instanceof ClusterUnreachable) throw error;
    call.log('It is restored without waiting until it is ready.');
  }
  await repair(context, { waits: false });
}

/**
 * Repairs a release that an interrupted operation left behind, which Helm would refuse to upgrade. The repair has
 * access of its own: resources that were created with wider permissions than a new deployment has are restored with
 * those permissions.
 */
async function repair(context: StepContext, options: { readonly waits: boolean }): Promise<void> {
  const { call } = context;
  const todo = repairOf(await ownRevisions(context), formerRollout(context));
  if (todo.type === 'NOTHING') return;
  call.log(
    todo.type === 'ROLLBACK'
      ? `Revision ${todo.revision}, which was deployed before, is restored.`
      : 'The partly installed release is removed.',
  );
  await using(context, { installs: false }, async (session) => {
    if (todo.type === 'ROLLBACK') await session.rollback(todo.revision, options, call);
    else await session.uninstall(call);
  });
}

/**
 * Uninstalls the release and then removes its claims. Pods, and hooks of the deletion, use the claims until then. The
 * claims are marked before, so that they are found after a crash in between.
 */
async function uninstallHere(context: StepContext, charts: ClusterCharts): Promise<void> {
  const { signal } = context.call;
  await charts.markClaims(refOf(context), signal);
  await using(context, { installs: false }, (session) => session.uninstall(context.call));
  await charts.removeClaims(refOf(context), signal);
}

/**
 * Uninstalls the release from other clusters. The deployed release does not depend on this: if it fails now, the keeper
 * of the other cluster does it, from the recorded clusters.
 */
async function leaveElsewhere({ task, parts, call }: StepContext): Promise<void> {
  try {
    await leaveOthers(parts, task, parts.settings.terminationGraceSeconds, call);
  } catch (error) {
    if (!(error instanceof DriverError) || call.signal.aborted) throw error;
    call.log(`The release could not be uninstalled from its former cluster: ${error.message}. Davit tries again later.`);
  }
}

/**
 * Renders the chart. An account without permissions outside of the namespace cannot even read objects there, and Helm
 * then fails with the refused request. In that case the objects of the chart's templates are checked instead.
 */
async function render(context: StepContext, session: HelmSession): Promise<readonly ChartObject[]> {
  const { call } = context;
  try {
    return await session.render(call);
  } catch (error) {
    call.signal.throwIfAborted();
    await refuseOutside(context, await session.template(call).catch(() => []));
    throw error;
  }
}

async function refuseOutside(context: StepContext, objects: readonly ChartObject[]): Promise<void> {
  if (helmOf(configOf(context.task)).allowClusterWideResources) return;
  const outside = await chartsOf(context).outside(ownerOf(context), objects, context.call.signal);
  if (outside.length === 0) return;
  throw new DriverError({
    cause: 'HELM_OUTSIDE_ENVIRONMENT',
    message: `the chart would create objects outside the namespace of its environment: ${outside.join(', ')}`,
  });
}

/**
 * Returns the revisions of the release. Fails with HELM_RELEASE_TAKEN if somebody else installed a release of that
 * name.
 */
async function ownRevisions(context: StepContext): Promise<Awaited<ReturnType<ClusterCharts['revisions']>>> {
  const chart = refOf(context);
  const revisions = await chartsOf(context).revisions(chart, context.call.signal);
  if (revisions.every(({ service }) => service === context.task.serviceId)) return revisions;
  throw new DriverError({
    cause: 'HELM_RELEASE_TAKEN',
    message: `there is a release ${chart.release} that Davit did not install`,
  });
}

/** Returns the rollout that was deployed before on this cluster; null if none was. */
function formerRollout({ task: { former, driver } }: StepContext): string | null {
  return former === null || former.desired === 'NONE' || former.driver !== driver ? null : former.rollout;
}

function chartsOf(context: StepContext): ClusterCharts {
  const { charts } = driverSet(context).cluster;
  if (charts !== undefined) return charts;
  throw new DriverError({
    cause: 'HELM_NEEDS_KUBERNETES',
    message: `${context.task.name} is a Helm chart, but ${context.parts.clusters.nameOf(context.task.driver)} is not a Kubernetes cluster`,
  });
}

function refOf(context: StepContext): ChartRef {
  return { owner: ownerOf(context), release: releaseName(context.task.serviceId) };
}

function helmSeconds({ task }: StepContext): number {
  const config = task.config ?? task.former?.config ?? null;
  const seconds = (config === null ? null : chartSourceOf(config))?.timeoutSeconds ?? 0;
  return seconds === 0 ? daySeconds : seconds;
}

/**
 * Returns the access for a Helm run. Resources that were created with wider permissions cannot be removed with narrower
 * ones, and the operator's ban on cluster-wide charts does not apply to their removal. A deployment is judged by its
 * own configuration. If the former one had wider permissions, the deployment also gets them where allowed, so that
 * resources that it omits are removed.
 */
async function accessTo(context: StepContext, installs: boolean): Promise<ChartAccess> {
  const { task, call } = context;
  const isWide = (config: ReleaseConfig | null): boolean =>
    config !== null && chartSourceOf(config)?.allowClusterWideResources === true;
  const [now, before] = [isWide(task.config), isWide(task.former?.config ?? null)];
  const choice = { isClusterWide: now || before, takesBack: !installs, seconds: 3 * helmSeconds(context) };
  const charts = chartsOf(context);
  try {
    return await charts.access(ownerOf(context), choice, call.signal);
  } catch (error) {
    if (now || !(error instanceof DriverError) || error.code !== 'HELM_OUTSIDE_ENVIRONMENT') throw error;
    return charts.access(ownerOf(context), { ...choice, isClusterWide: false }, call.signal);
  }
}

async function using<Result>(
  context: StepContext,
  { installs }: { readonly installs: boolean },
  work: (session: HelmSession) => Promise<Result>,
): Promise<Result> {
  const { task, call, parts } = context;
  const { cluster } = driverSet(context);
  const access = await accessTo(context, installs);
  const run = {
    folder: checkoutFolder(context),
    release: releaseName(task.serviceId),
    ...access,
    timeoutSeconds: helmSeconds(context),
    install: installs ? await installOf(context) : null,
  };
  const session = await parts.helm.open(run, call);
  try {
    return await work(session);
  } catch (error) {
    // Neither Helm nor the state of the pods distinguishes an unreachable cluster, which a deployment waits for.
    if (!(error instanceof DriverError) || error instanceof ClusterUnreachable || call.signal.aborted) throw error;
    const away = await cluster.describe(call.signal).then(
      () => null,
      (problem: unknown) => (problem instanceof ClusterUnreachable ? problem : null),
    );
    throw away ?? error;
  } finally {
    await session.close();
  }
}

async function removeRun(context: StepContext): Promise<void> {
  await rm(checkoutFolder(context), { recursive: true, force: true });
}
