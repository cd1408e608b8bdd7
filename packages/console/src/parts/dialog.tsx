import { useLayoutEffect, useRef, type ReactNode } from 'react';

interface DialogProps {
  readonly label: string;
  readonly onClose: () => void;
  readonly className?: string | undefined;
  /** Neither Escape nor a click beside it closes the dialog, since what it shows would be lost. */
  readonly isSticky?: boolean;
  /** Is called in place of `onClose` on Escape or a click beside the dialog, which stays open. */
  readonly onAway?: (() => void) | undefined;
  /** Is called after each input in it. */
  readonly onInput?: () => void;
  readonly children: ReactNode;
}

/** A dialog of the browser: it keeps the focus inside, and Escape closes it. It is open while it is on the page. */
export function Dialog({ label, onClose, className, isSticky = false, onAway, onInput, children }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const stays = isSticky || onAway !== undefined;
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
      onInput={onInput}
      onCancel={(event) => {
        if (stays) event.preventDefault();
        else onClose();
        onAway?.();
      }}
      onClose={() => {
        // A second Escape closes a dialog of the browser even if the first one was refused.
        if (stays && dialog.current?.isConnected === true && !dialog.current.open) dialog.current.showModal();
      }}
      onClick={({ target }) => {
        if (target === dialog.current && !isSticky) (onAway ?? onClose)();
      }}
    >
      {children}
    </dialog>
  );
}
