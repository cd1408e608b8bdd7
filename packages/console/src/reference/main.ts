import { applyTheme } from '../theme.ts';
import { element } from './element.ts';
import { setUpFinder } from './finder.ts';
import { navigateWithin } from './navigate.ts';
import { endTrial, setUpTrial } from './trial.ts';
import './reference.css';

const icon = new URL('../icon.svg', import.meta.url);
const exampleKey = 'davit.example';
const isWide = matchMedia('(width > 760px)');

/** Opens the contents on a wide screen; a phone opens them by hand. */
function showContents(): void {
  const menu = document.querySelector<HTMLDetailsElement>('.menu');
  if (menu !== null) menu.open = isWide.matches;
}

/** Adds to a page of the server what needs a script. */
function enhance(): void {
  endTrial();
  showContents();
  const form = document.querySelector<HTMLFormElement>('form.try');
  if (form !== null) setUpTrial(form);
  for (const box of document.querySelectorAll<HTMLElement>('main .code')) addCopy(box);
  keepExample();
  document.querySelector('.contents [aria-current]')?.scrollIntoView({ block: 'nearest' });
}

function addCopy(box: HTMLElement): void {
  const button = element('button', { type: 'button', class: 'button quiet small copy' }, 'Copy');
  button.addEventListener('click', () => {
    const text = box.querySelector('pre')?.textContent ?? '';
    // Pages on plain http from other machines may not write to the clipboard: the text can be selected by hand.
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    copied.then(
      () => (button.textContent = 'Copied'),
      () => (button.textContent = 'Select it by hand'),
    );
  });
  box.append(button);
}

/** Shows the examples in the language that was chosen last. */
function keepExample(): void {
  const chosen = localStorage.getItem(exampleKey);
  for (const choice of document.querySelectorAll<HTMLInputElement>('[name=example]')) {
    if (choice.value === chosen) choice.checked = true;
    choice.addEventListener('change', () => localStorage.setItem(exampleKey, choice.value));
  }
}

applyTheme();
document.head.append(element('link', { rel: 'icon', type: 'image/svg+xml', href: icon.href }));
const find = document.getElementById('find');
if (find !== null) setUpFinder(find);
isWide.addEventListener('change', showContents);
navigateWithin(enhance);
enhance();
