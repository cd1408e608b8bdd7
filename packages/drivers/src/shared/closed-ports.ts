import { formatListener, isReachable, type Listener } from './listening.ts';

/** Returns what is wrong with ports that accept no connection after this many seconds, and what to do. Pure. */
export function describeClosed(
  missing: readonly number[],
  listeners: readonly Listener[] | null,
  seconds: number,
): { readonly message: string; readonly hint: string | null } {
  const nothing = `After ${seconds} s nothing listens on ${formatPorts(missing)}`;
  const own = listeners?.filter((listener) => missing.includes(listener.port)) ?? [];
  if (own.length > 0 && own.every((listener) => !isReachable(listener))) {
    return {
      message: `The process listens on ${own.map(formatListener).join(', ')} only, which nothing outside the instance can reach.`,
      hint: 'Make the process listen on 0.0.0.0 (all addresses) instead of 127.0.0.1. Many frameworks take a host option or the variable HOST for this.',
    };
  }
  const others = [...new Set(listeners?.filter(isReachable).map(({ port }) => port))].filter((port) => !missing.includes(port));
  if (others.length === 0) return { message: `${nothing}.`, hint: null };
  return {
    message: `${nothing}, but the process listens on ${formatPorts(others)}.`,
    hint: `Set internal_port to ${others.join(' or ')}, or make the process listen on ${missing.join(', ')} (on 0.0.0.0).`,
  };
}

function formatPorts(ports: readonly number[]): string {
  return `port${ports.length > 1 ? 's' : ''} ${ports.join(', ')}`;
}
