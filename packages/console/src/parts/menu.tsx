import { useId, type ReactNode } from 'react';

interface MenuProps {
  readonly className: string;
  readonly button: ReactNode;
  readonly children: ReactNode;
}

/** A button with a list below it, which is a popover of the browser: Escape or a click elsewhere closes it. */
export function Menu({ className, button, children }: MenuProps): ReactNode {
  const id = useId();
  return (
    <>
      <button type="button" className={className} popoverTarget={id}>
        {button}
      </button>
      <div
        id={id}
        popover="auto"
        className="menu"
        onClick={({ currentTarget, target }) => {
          if (target instanceof Element && target.closest('a, button') !== null) currentTarget.hidePopover();
        }}
      >
        {children}
      </div>
    </>
  );
}
