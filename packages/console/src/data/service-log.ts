import { useEffect, useState } from 'react';
import { ApiError } from '@davit/client';
import { api } from '../api.ts';
import { lookOf } from '../words.ts';
import type { LogLine } from '../parts/log-lines.tsx';

/** Lines that are kept in the page; older ones are forgotten. */
const largestLog = 100_000;
/** Milliseconds for which lines are collected before the page shows them. */
const collectMilliseconds = 50;
const newestLines = 1000;

export interface ServiceLog {
  readonly lines: readonly LogLine[];
  /** Whether the server has answered. */
  readonly isReady: boolean;
  readonly error: Error | null;
}

const nothing: ServiceLog = { lines: [], isReady: false, error: null };

/** Returns how many lines came after a line, which may be gone meanwhile: the page keeps a limited number of them. */
export function newSince(lines: readonly LogLine[], last: LogLine | undefined): number {
  return lines.length - 1 - lines.findLastIndex(({ id }) => id === last?.id);
}

/** Follows the output of a service while the page is open. */
export function useServiceLog(serviceId: string): ServiceLog {
  const [log, setLog] = useState<ServiceLog>(nothing);
  useEffect(() => {
    const leave = new AbortController();
    setLog(nothing);
    followLog(serviceId, (change) => setLog(change), leave.signal).catch((error: unknown) => {
      if (!leave.signal.aborted)
        setLog((before) => ({ ...before, error: error instanceof Error ? error : new ApiError({ status: 500 }) }));
    });
    return () => leave.abort();
  }, [serviceId]);
  return log;
}

type Change = (before: ServiceLog) => ServiceLog;

/**
 * Follows the log until the signal aborts. Nothing changes after that: the page then shows another service, to which a
 * line that is still collected does not belong.
 */
export async function followLog(serviceId: string, change: (change: Change) => void, signal: AbortSignal): Promise<void> {
  let collected: LogLine[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (): void => {
    timer = undefined;
    if (signal.aborted) return;
    const added = collected;
    collected = [];
    change((before) => ({ ...before, lines: [...before.lines, ...added].slice(-largestLog) }));
  };
  const input = { params: { serviceId }, query: { tail: newestLines }, signal };
  for await (const { event, data } of api().stream('streamServiceLog', input)) {
    if (signal.aborted) return;
    if (event === 'OPEN') change((before) => ({ ...before, isReady: true }));
    if (event === 'RESET' || (event === 'OPEN' && !data.resumed)) {
      // The newest lines are sent again.
      collected = [];
      change((before) => ({ ...before, lines: [] }));
    }
    if (event !== 'SERVICE_LOG') continue;
    const { id, at, message, level, pod_name: instance } = data;
    collected.push({ id, at, text: message, instance, level: lookOf(level) });
    timer ??= setTimeout(show, collectMilliseconds);
  }
}
