import type { ReactNode } from 'react';
import { Button } from './button.tsx';

interface SaverProps {
  readonly title: string;
  readonly about: ReactNode;
  readonly verb: string;
  readonly refusal: string | null;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
}

/** The bar of a page with edits that are not saved. It stays in view. */
export function Saver({ title, about, verb, refusal, onSave, onDiscard }: SaverProps): ReactNode {
  return (
    <div className="saver" role="region" aria-label="Changes that are not saved">
      <span>
        <b>{title}</b> <span className="text-muted">{about}</span>
      </span>
      <div className="do">
        <Button look="quiet" onClick={onDiscard}>
          Discard
        </Button>
        <Button look="main" refusal={refusal} onClick={onSave}>
          {verb}
        </Button>
      </div>
    </div>
  );
}
