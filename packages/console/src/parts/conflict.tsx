import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Mark } from './state.tsx';

interface ConflictProps {
  /** Says what somebody else did: "set it to". */
  readonly did: string;
  /** The value that they set, if it may be shown. */
  readonly value?: string | undefined;
  readonly onKeep: () => void;
  readonly onTake: () => void;
}

const longest = 200;

/** Says that somebody else changed what is being edited here, and asks which counts. */
export function Conflict({ did, value, onKeep, onTake }: ConflictProps): ReactNode {
  return (
    <div className="conflict" role="alert">
      <span>
        <Mark shape="warn" /> Meanwhile somebody {did}
        {value !== undefined && <span className="mono"> {value.slice(0, longest)}</span>}.
      </span>
      <Button isSmall onClick={onKeep}>
        Keep mine
      </Button>
      <Button isSmall onClick={onTake}>
        Take theirs
      </Button>
    </div>
  );
}
