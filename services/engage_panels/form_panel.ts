import { element, textBlock } from './build_element.ts';
import type { Panel } from './panel_frame.ts';
import type { FormContent, FormField, Words } from './shown_item.ts';

/** What a visitor filled in. */
export interface FilledForm {
  fields: Record<string, string | boolean>;
  consent?: { process: boolean; text_version?: string };
}

/** What became of a form: taken, not right in these fields, not yet sent, which is heard before the others, or not taken at all. */
export type FormResult =
  | [kind: 'taken', message: string]
  | [kind: 'invalid', names: string[]]
  | [kind: 'later' | 'failed', nothing?: undefined];

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Shows a form. `send` is called once for each time it is sent, and not again before it is settled. */
export function showForm(
  panel: Panel,
  content: FormContent,
  words: Words,
  send: (filled: FilledForm, settled: (...result: FormResult) => void) => void,
): void {
  const { title, body, fields, button, consent_text, consent_required, honeypot } = content;
  const controls = new Map(fields.map((field) => [field.name, control(field)]));
  const consent = consent_text !== '' && element('input', { type: 'checkbox', required: consent_required });
  // Nobody sees it, and only programs fill it in; it is not hidden in a way that those look for.
  const trap = element('input', { name: honeypot, tabIndex: -1, autocomplete: 'off', ariaHidden: 'true' });
  const submit = element('button', {}, button || words.send);
  const labels = [...controls.values()].map((one, at) => labelled(one, fields[at]?.label ?? ''));
  const hidden = element('div', { className: 'trap', ariaHidden: 'true' }, trap);
  const problem = element('p', { role: 'alert' });
  // A button that is disabled loses the focus, and what is said then would be out of view on a high form.
  let isSending = false;
  function settled(...[kind, more]: FormResult): void {
    isSending = kind === 'later';
    // What was filled in stays: the visitor may copy it, shorten it, or try again.
    problem.textContent = kind === 'later' || kind === 'failed' ? words[kind] : '';
    if (kind === 'taken') panel.fill(textBlock('p', more || words.thanks));
    if (kind === 'invalid') {
      for (const name of more) (controls.get(name) ?? (consent || submit)).setCustomValidity(words.check);
      form.reportValidity();
    }
  }
  const oninput = ({ target }: Event): void => (target as Control).setCustomValidity('');
  const onclick = (): void => submit.setCustomValidity('');
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    problem.textContent = words.sending;
    send(filledIn(controls, consent, content, trap.value), settled);
  };
  const parts = [...labels, consent && labelled(consent, consent_text), hidden, problem, submit];
  const form = element('form', { onsubmit, oninput, onclick }, ...parts);
  panel.fill(textBlock('h2', title), textBlock('p', body), form);
}

function filledIn(
  controls: ReadonlyMap<string, Control>,
  consent: HTMLInputElement | false,
  { honeypot, consent_version }: FormContent,
  trapped: string,
): FilledForm {
  const values = [...controls].map(([name, one]): [string, string | boolean] => [name, said(one)]);
  const version = consent_version && { text_version: consent_version };
  return {
    fields: { ...Object.fromEntries(values), ...(trapped && { [honeypot]: trapped }) },
    ...(consent && { consent: { process: consent.checked, ...version } }),
  };
}

const said = (one: Control): string | boolean => (isBox(one) ? (one as HTMLInputElement).checked : one.value);
const isBox = ({ type }: Control): boolean => type === 'checkbox';

function labelled(one: Control, label: string): HTMLLabelElement {
  return isBox(one) ? element('label', { className: 'choice' }, one, label) : element('label', {}, label, one);
}

function control({ name, type, placeholder, required, max_length: maxLength, options }: FormField): Control {
  if (type === 'select') {
    const choices = options.map(({ id, label }) => element('option', { value: id }, label));
    return element('select', { name, required }, element('option', { value: '' }), ...choices);
  }
  if (type === 'textarea') return element('textarea', { name, required, placeholder, maxLength, rows: 4 });
  const autocomplete = type === 'email' || type === 'tel' ? type : '';
  return element('input', { name, type, required, placeholder, autocomplete, maxLength, step: 'any' });
}
