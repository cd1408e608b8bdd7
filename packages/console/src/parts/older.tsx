import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { ErrorNote } from './face.tsx';

interface OlderProps {
  /** Name of the older records, as "deployments". */
  readonly what: string;
  readonly hasOlder: boolean;
  readonly isReading: boolean;
  readonly error: Error | null;
  readonly onRead: () => void;
}

/** The end of a list that is read by pages: reads the next one. Nothing is there when the list is complete. */
export function Older({ what, hasOlder, isReading, error, onRead }: OlderProps): ReactNode {
  if (!hasOlder) return null;
  return (
    <div className="older">
      <ErrorNote error={error} />
      <Button isSmall refusal={isReading ? 'They are being read.' : null} onClick={onRead}>
        Older {what}
      </Button>
    </div>
  );
}
