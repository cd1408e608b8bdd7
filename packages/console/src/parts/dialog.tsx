import { useLayoutEffect, useRef, type ReactNode } from 'react';

interface DialogProps {
  readonly label: string;
  readonly onClose: () => void;
  readonly className?: string;
  /** Neither Escape nor a click beside it closes the dialog, since what it shows would be lost. */
  readonly isSticky?: boolean;
  readonly children: ReactNode;
}

/** A dialog of the browser: it keeps the focus inside, and Escape closes it. It is open while it is on the page. */
export function Dialog({ label, onClose, className, isSticky = false, children }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  // The dialog is closed while it is still on the page: only then the browser returns the focus to what opened it.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={label}
      className={className}
      onCancel={(event) => {
        if (isSticky) event.preventDefault();
        else onClose();
      }}
      onClose={() => {
        // A second Escape closes a dialog of the browser even if the first one was refused.
        if (isSticky && dialog.current?.isConnected === true && !dialog.current.open) dialog.current.showModal();
      }}
      onClick={({ target }) => {
        if (target === dialog.current && !isSticky) onClose();
      }}
    >
      {children}
    </dialog>
  );
}
