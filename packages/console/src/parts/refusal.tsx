import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';

interface RefusalProps {
  readonly reason: string | null;
  /** Whether it stands above what it is about, in a line of its own. */
  readonly isAlone?: boolean;
}

/** A line that says why the session may not use what stands beside it; nothing if it may. */
export function Refusal({ reason, isAlone = false }: RefusalProps): ReactNode {
  if (reason === null) return null;
  return (
    <p className={`refusal ${isAlone ? 'alone' : ''}`}>
      <Icon name="lock" size={14} />
      {reason}
    </p>
  );
}
