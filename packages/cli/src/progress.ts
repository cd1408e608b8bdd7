import type { Received } from '@davit/client';
import type { Mark, Output } from './output/output.ts';
import { duration, phrase, printable, width } from './output/text.ts';

/**
 * The parts of a deployment of one service, as people see them: while they go on, when they are done (null: no longer
 * shown), and when they failed. Several steps belong to one phase.
 */
const phases = {
  GIT_CLONE: ['fetching', null, 'not fetched'],
  MIRROR_IMAGE: ['copying', null, 'not copied'],
  REGISTRY_CREATE_REPOSITORY: ['preparing', null, 'not prepared'],
  BUILD_QUEUEING: ['waiting to build', null, 'not built'],
  BUILD: ['building', 'built', 'not built'],
  DEPLOYMENT_QUEUEING: ['waiting', null, 'not started'],
  DEPLOYMENT: ['starting', 'ready', 'not ready'],
  ROUTER_DEPLOYMENT: ['switching', 'switched', 'not switched'],
  EXECUTING: ['running', 'ran', 'failed'],
  /** Former instances answer their last requests and stop. */
  FINISHING: ['finishing', null, 'not finished'],
} as const;
type PhaseName = keyof typeof phases;
const known: Readonly<Partial<Record<string, readonly [going: string, done: string | null, failed: string]>>> = phases;

/** Returns the words of a phase. A newer server may have phases of other names. */
function wordsOf(name: string) {
  return known[name] ?? ([phrase(name), null, `failed: ${phrase(name)}`] as const);
}

/** Kinds of services whose instances are not there to stay. */
const runsOnce: ReadonlySet<string> = new Set(['JOB', 'TERRAFORM', 'HELM']);

interface Phase {
  readonly name: PhaseName;
  readonly startedAt: number;
  endedAt: number | null;
  outcome: 'going' | 'done' | 'failed' | 'off';
}

export interface ServiceProgress {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  state: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  isOver: boolean;
  failure: { readonly code: string; readonly message: string } | null;
  readonly phases: Phase[];
}

const ended = new Set(['SUCCEEDED', 'FAILED', 'CANCELED', 'WITHDRAWN']);

/** Something that ended and is reported once, where lines cannot change in place. */
export interface Milestone {
  readonly at: number;
  readonly service: string;
  readonly mark: Mark;
  readonly text: string;
}

/** The state of a deployment, from the events of its stream. */
export class Progress {
  readonly services = new Map<string, ServiceProgress>();
  /** QUEUED, RUNNING or one of the words with which a deployment ends. */
  status = 'QUEUED';
  executionId: string | null = null;
  readonly #steps = new Map<string, number>();

  get isOver(): boolean {
    return ended.has(this.status);
  }

  /** Takes an event in; returns what it ended. An event that repeats what is known changes nothing. */
  apply(received: Received): Milestone[] {
    if (received.event === 'DEPLOYMENT') {
      this.status = received.data.status;
      this.executionId = received.data.execution_id ?? this.executionId;
    }
    if (received.event === 'SERVICE_STATE') return this.#onState(received.data);
    if (received.event === 'STEP') return this.#onStep(received.data);
    return [];
  }

  #onState(data: Extract<Received, { event: 'SERVICE_STATE' }>['data']): Milestone[] {
    const at = Date.parse(data.at);
    const service = this.services.get(data.service_id) ?? {
      id: data.service_id,
      name: printable(data.service_name),
      type: data.service_type,
      state: data.state,
      since: at,
      isOver: false,
      failure: null,
      phases: [],
    };
    this.services.set(service.id, service);
    service.state = data.state;
    service.failure = data.failure;
    if (!isEnd(data.state) || service.isOver) return [];
    service.isOver = true;
    const milestones = closePhases(service, at, data.failure !== null ? 'failed' : data.state === 'CANCELED' ? 'off' : 'done');
    const text = data.failure === null ? phrase(data.state) : `${phrase(data.state)}: ${data.failure.message}`;
    return [...milestones, { at, service: service.name, mark: markOf(data.state), text }];
  }

  #onStep(data: Extract<Received, { event: 'STEP' }>['data']): Milestone[] {
    const service = this.services.get(data.service_id);
    const key = `${data.service_id} ${data.step}`;
    if (service === undefined || data.status === 'SKIPPED' || data.status === 'PENDING') return [];
    // Events may be sent again, older ones too.
    const rank = data.attempt * 2 + (data.status === 'RUNNING' ? 0 : 1);
    if (rank <= (this.#steps.get(key) ?? -1)) return [];
    this.#steps.set(key, rank);
    const at = Date.parse(data.finished_at ?? data.started_at ?? data.at);
    const last = service.phases.at(-1);
    const name = phaseOf(service, data.step_name);
    // Former instances may stop after the service has reached its state.
    if (service.isOver && name === 'FINISHING') return [];
    if (last?.name === name) {
      last.endedAt = data.finished_at === null ? null : at;
      if (data.status === 'FAILED') last.outcome = 'failed';
      // A step that failed is tried again.
      if (data.status === 'RUNNING' && last.outcome === 'failed') last.outcome = 'going';
      return [];
    }
    const milestones = closePhases(service, Date.parse(data.started_at ?? data.at), 'done');
    const startedAt = Date.parse(data.started_at ?? data.at);
    const outcome = data.status === 'FAILED' ? 'failed' : data.status === 'CANCELED' ? 'off' : service.isOver ? 'done' : 'going';
    service.phases.push({ name, startedAt, endedAt: data.finished_at === null ? null : at, outcome });
    return milestones;
  }
}

function phaseOf({ type, phases: earlier }: ServiceProgress, metric: PhaseName): PhaseName {
  if (metric !== 'DEPLOYMENT') return metric;
  if (earlier.some(({ name }) => name === 'ROUTER_DEPLOYMENT')) return 'FINISHING';
  return runsOnce.has(type) ? 'EXECUTING' : metric;
}

function closePhases(service: ServiceProgress, at: number, outcome: 'done' | 'failed' | 'off'): Milestone[] {
  const last = service.phases.at(-1);
  if (last === undefined || last.outcome === 'done') return [];
  if (last.outcome === 'going') last.outcome = outcome;
  last.endedAt ??= at;
  // A failure is reported with its message, by the state of the service.
  if (last.outcome !== 'done') return [];
  const [, word] = wordsOf(last.name);
  if (word === null) return [];
  const text = `${word} ${duration(last.endedAt - last.startedAt)}`;
  return [{ at: last.endedAt, service: service.name, mark: 'ok', text }];
}

function isEnd(state: string): boolean {
  return !/ING$|QUEUED$|^WAITING|^READY$|^RECAP$/.test(state);
}

/** Returns the mark for a state word of the API. */
export function markOf(state: string): Mark {
  if (state.endsWith('ERROR')) return 'bad';
  if (/^(QUEUED|WAITING.*|.*_QUEUED|RECAP)$/.test(state)) return 'wait';
  if (state === 'RUNNING') return 'ok';
  if (state === 'UNAVAILABLE' || state === 'WARNING') return 'warn';
  if (state.endsWith('ING')) return 'go';
  return /^(DEPLOYED|RESTARTED|COMPLETED)$/.test(state) ? 'ok' : 'off';
}

/** Returns the line of one service, not wider than the columns: the oldest phases are left out first. */
export function progressLine(
  service: ServiceProgress,
  out: Output,
  options: { now: number; pad: number; columns: number },
): string {
  const { now, pad, columns } = options;
  const shown = service.phases.filter(({ name, outcome }) => outcome !== 'done' || wordsOf(name)[1] !== null);
  const parts = shown.map((phase) => phaseText(phase, out, now));
  const isCanceled = shown.at(-1)?.outcome === 'off';
  const isRemarkable = service.isOver && !isCanceled && service.failure === null && !/^(DEPLOYED|RESTARTED)$/.test(service.state);
  if (parts.length === 0 || isRemarkable) parts.push(`${out.mark(markOf(service.state))} ${phrase(service.state)}`);
  const name = service.name.padEnd(pad);
  while (parts.length > 1 && width(`  ${name}  ${parts.join('  ')}`) > columns) parts.shift();
  return `  ${name}  ${parts.join('  ')}`;
}

function phaseText({ name, startedAt, endedAt, outcome }: Phase, out: Output, now: number): string {
  const [going, done, failed] = wordsOf(name);
  const time = out.style('grey', duration(Math.max(0, (endedAt !== null && outcome !== 'going' ? endedAt : now) - startedAt)));
  if (outcome === 'going') return `${out.mark('go')} ${out.style('blue', going)} ${time}`;
  if (outcome === 'failed') return `${out.mark('bad')} ${failed} ${out.style('grey', 'after')} ${time}`;
  return outcome === 'off' ? `${out.mark('off')} canceled` : `${out.mark('ok')} ${done ?? ''} ${time}`;
}
