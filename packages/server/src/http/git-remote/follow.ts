import { pause } from '@davit/base';
import type { DeploymentLogLine } from '@davit/engine/port';
import type { FastifyInstance } from 'fastify';
import type { HttpContext } from '../context.ts';
import type { RemoteRow } from './store.ts';

/** Sends one line to the client of a push. */
export type Report = (line: string) => void;

interface Followed {
  readonly app: FastifyInstance;
  readonly context: HttpContext;
  readonly service: RemoteRow;
  readonly commit: string;
  readonly authorization: string;
  readonly report: Report;
  readonly isGone: () => boolean;
}

const betweenReadsMilliseconds = 500;

/**
 * Requests the deployment of a pushed commit by Davit's own API, in the name of the caller, and reports its log and its
 * result. The deployment continues if the client goes away.
 */
export async function followDeployment(followed: Followed): Promise<void> {
  const { app, service, commit, authorization, report } = followed;
  report(`Deploying ${service.name} at ${commit.slice(0, 12)}`);
  const answer = await app.inject({
    method: 'POST',
    url: `/application/${service.id}/deploy`,
    headers: { authorization },
    payload: { git_commit_id: commit },
  });
  const body = answer.json<{ readonly message?: string; readonly deployment_request_id?: string | null }>();
  if (answer.statusCode !== 202) {
    report(`The push was kept, but it was not deployed: ${body.message ?? `status ${answer.statusCode}`}`);
    return;
  }
  const id = body.deployment_request_id;
  if (typeof id === 'string') await followRequest(followed, id);
  else report('The deployment was requested. See its log in Davit.');
}

async function followRequest({ context, service, report, isGone }: Followed, id: string): Promise<void> {
  const { engine, database, isLeaving } = context.options;
  let last = -1;
  while (!isGone()) {
    const view = await engine.deployment(database, id);
    if (view === null) return report('The deployment no longer exists.');
    if (view.executionId !== null) {
      const { lines } = await engine.deploymentLog(database, view.environmentId, view.executionId);
      for (const line of lines) {
        if (line.number <= last) continue;
        last = line.number;
        if (line.service === null || line.service.id === service.id) reportLine(line, report);
      }
    }
    if (view.status === 'SUCCEEDED') return report(`${service.name} is deployed.`);
    if (view.status !== 'QUEUED' && view.status !== 'RUNNING') {
      return report(`The deployment of ${service.name} has ended: ${view.status}. The branch has the pushed commit.`);
    }
    if (isLeaving?.() === true) return report('Davit restarts. The deployment continues; see its log in Davit.');
    await pause(betweenReadsMilliseconds);
  }
}

function reportLine({ level, message, failure }: DeploymentLogLine, report: Report): void {
  report(level === 'INFO' ? message : `${level}: ${message}`);
  if (failure !== null && failure.hint !== '' && !message.includes(failure.hint)) report(failure.hint);
}
