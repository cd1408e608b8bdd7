import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface ConfirmProps {
  /** The question: what is done to what. */
  readonly title: string;
  /** Names all that is lost or interrupted. */
  readonly children: ReactNode;
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks once, naming what is lost. The safe answer has the focus. */
export function Confirm({ title, children, verb, isDangerous, onConfirm, onClose }: ConfirmProps): ReactNode {
  return (
    <Dialog label={title} onClose={onClose}>
      <div className="in">
        <h2>{title}</h2>
        <div className="grid gap-2 text-muted">{children}</div>
        <div className="do">
          <Button onClick={onClose}>Leave it</Button>
          <Button
            look={isDangerous === true ? 'danger' : 'main'}
            onClick={() => {
              onConfirm();
              onClose();
            }}
          >
            {verb}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
