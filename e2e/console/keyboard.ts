import type { Page } from '@davit/testkit/browser';
import { expect } from 'vitest';

/** A step of somebody who has a keyboard and no mouse. */
export type Step =
  /** Goes on with Tab until the element whose name begins like this has the focus. */
  | { readonly to: string | RegExp }
  /** Presses a key. */
  | { readonly press: string }
  | { readonly type: string }
  /** Waits until the text is in view. */
  | { readonly see: string | RegExp }
  /** Waits until the element whose name begins like this has the focus, without a key. */
  | { readonly at: string | RegExp }
  /** Waits for something that is not on the page. */
  | { readonly until: () => Promise<void> };

interface Focus {
  /** Empty: nothing has the focus. */
  readonly name: string;
  readonly isVisible: boolean;
}

/** The most elements that a reader passes on the way to what they want. */
const longestWay = 150;

const focusScript = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { name: '', isVisible: false };
  const labels = [...(element.labels ?? [])].map((label) => label.textContent).join(' ');
  const content = element.tagName === 'SELECT' ? '' : element.textContent;
  const name = (element.getAttribute('aria-label') ?? (labels === '' ? content : labels)).trim().replace(/\\s+/g, ' ');
  const isMarked = (one) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
  };
  const frame = element.closest('.field') ?? element;
  const { top, bottom, width, height } = element.getBoundingClientRect();
  const isInView = width > 0 && height > 0 && bottom > 0 && top < innerHeight;
  return { name, isVisible: element.matches(':focus-visible') && isInView && isMarked(frame) };
})()`;

const focusOf = (page: Page): Promise<Focus> => page.evaluate<Focus>(focusScript);

/** A name may go on with a reason or a second line, but its last word must end. */
function isNamed({ name }: Focus, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? name.startsWith(wanted) && !/^[a-z]/.test(name.slice(wanted.length)) : wanted.test(name);
}

/** Waits until the reader sees where the keyboard is. */
async function seesFocus(page: Page): Promise<Focus> {
  const read = async (): Promise<Focus> => focusOf(page);
  await expect.poll(read, { timeout: 10_000 }).toMatchObject({ isVisible: true });
  return read();
}

async function goTo(page: Page, wanted: string | RegExp): Promise<void> {
  const passed: string[] = [];
  let focus = await focusOf(page);
  while (!isNamed(focus, wanted)) {
    await page.keyboard.press('Tab');
    focus = await focusOf(page);
    if (focus.name === '' || passed.push(focus.name) > longestWay)
      throw new Error(`Tab does not come to ${String(wanted)}, but to ${passed.join(' | ')}`);
    await seesFocus(page);
  }
}

async function take(page: Page, step: Step): Promise<void> {
  if ('to' in step) await goTo(page, step.to);
  else if ('type' in step) await page.keyboard.type(step.type);
  else if ('press' in step) await page.keyboard.press(step.press);
  else if ('see' in step) await page.getByText(step.see).filter({ visible: true }).first().waitFor();
  else if ('until' in step) await step.until();
  else await expect.poll(async () => isNamed(await focusOf(page), step.at), { timeout: 10_000 }).toBe(true);
}

/** Does the steps with the keyboard alone. The focus is in view after each of them, from the first key on. */
export async function byKeyboard(page: Page, steps: readonly Step[]): Promise<void> {
  let hasBegun = false;
  for (const step of steps) {
    try {
      await take(page, step);
      hasBegun ||= 'to' in step || 'press' in step;
      if (hasBegun) await seesFocus(page);
    } catch (error) {
      const focus = JSON.stringify(await focusOf(page));
      throw new Error(`at the step ${JSON.stringify(step)}, with the focus ${focus}`, { cause: error });
    }
  }
}
