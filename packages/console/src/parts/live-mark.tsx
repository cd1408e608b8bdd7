import type { ReactNode } from 'react';
import { useConnection, type Connection } from '../live/connection.ts';
import { duration, useNow } from '../time.ts';
import { State } from './state.tsx';

/** The only sign of the connection. Lost, it says for how long, and so how old the page may be. */
export function LiveMark(): ReactNode {
  return <ConnectionMark connection={useConnection()} />;
}

/** The mark of a connection. */
export function ConnectionMark({ connection }: { readonly connection: Connection }): ReactNode {
  return (
    <div className="live" role="status">
      {connection.state === 'LIVE' && <State shape="ok">Live</State>}
      {connection.state === 'CONNECTING' && <State shape="wait">Connecting</State>}
      {connection.state === 'LOST' && <Lost since={connection.since} />}
    </div>
  );
}

function Lost({ since }: { readonly since: number }): ReactNode {
  const now = useNow();
  return (
    <State shape="warn">
      Connection lost <span aria-hidden="true">{seconds(now - since)} ago</span>
    </State>
  );
}

/** Returns whole seconds, as the mark changes once a second. */
function seconds(milliseconds: number): string {
  return milliseconds < 60_000 ? `${Math.max(0, Math.floor(milliseconds / 1000))} s` : duration(milliseconds);
}
