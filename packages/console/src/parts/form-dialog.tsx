import { useState, type ReactNode } from 'react';
import { Confirm } from './confirm.tsx';
import { Dialog } from './dialog.tsx';

interface FormDialogProps {
  readonly label: string;
  readonly className?: string;
  /** Whether something was entered by other means than fields, such as buttons that add rows. */
  readonly hasEdits?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog with fields. Once something was entered, Escape and a click beside it ask before that is lost. */
export function FormDialog({ label, className, hasEdits = false, onClose, children }: FormDialogProps): ReactNode {
  const [isEdited, setEdited] = useState(false);
  const [isAsked, ask] = useState(false);
  // An Escape may reach this dialog together with the question in it.
  const away = (): void => {
    if (!isAsked) ask(true);
  };
  return (
    <Dialog
      label={label}
      className={className}
      onClose={onClose}
      onInput={() => setEdited(true)}
      onAway={isEdited || hasEdits ? away : undefined}
    >
      {children}
      {isAsked && (
        <Confirm title="Close without saving?" verb="Close" isDangerous onConfirm={onClose} onClose={() => ask(false)}>
          <p>What you entered is lost.</p>
        </Confirm>
      )}
    </Dialog>
  );
}
