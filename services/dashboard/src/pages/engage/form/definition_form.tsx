import { useEffect, useRef, useState } from 'preact/hooks';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { DEFINITION_SCHEMAS, type Definition } from '#pipelines/engage/definition_problems.ts';
import type { EngageView } from '#services/control_api/engage.ts';
import { element, type Panel, panelFrame } from '#services/engage_panels/panel_frame.ts';
import { showForm, showPromo, showSurvey } from '#services/engage_panels/panels.ts';
import type { ShownItem } from '#services/engage_panels/shown_item.ts';
import { request } from '../../../api/request.ts';
import { type Editing, RemoveButton } from '../../../editing/editing.tsx';
import { idOf } from '../../../format.ts';
import { SiteNamesContext, useSiteNames } from '../../../questions/site_names.ts';
import { mayAt } from '../../../session.ts';
import { SelectField, submitHandler } from '../../../ui/form_fields.tsx';
import { FailureNote } from '../../../ui/panel.tsx';
import * as engage from '../engage_item.ts';
import { definitionFacts, definitionText, type KindSpec, readObject, valueAt } from '../engage_item.ts';
import { DefinitionFields } from './definition_layout.tsx';
import { checkDefinition, languagesOf, previewItem } from './definition_values.ts';
import { DefinitionContext } from './field_at.tsx';

export function DefinitionForm(props: DefinitionFormProps) {
  const read = engage.readObject(props.form.draft.text);
  const used = useUsedNames(props.item, read.ok ? read.value : null);
  if (read.ok) return <Fields {...props} typed={read.value} used={used} />;
  return <p class="muted">The JSON under Advanced is invalid: {read.message}</p>;
}

interface FieldsProps extends DefinitionFormProps {
  typed: object;
  used: ReadonlySet<string>;
}

function Fields({ typed, used, ...props }: FieldsProps) {
  const { siteId, spec, item, form, isSeen } = props;
  const [isTried, setTried] = useState(false);
  const [look, setLook] = useState<Look>({ at: 0, times: 0 });
  const fields = useRef<HTMLFormElement>(null);
  const names = useSiteNames(siteId);
  const checked = checkDefinition(spec.kind, typed);
  const own = isTried ? checked.problems : [];
  const problems = [...own, ...(form.failure?.problems ?? [])];
  const failure = own.length > 0 ? { ...NOT_SENT, problems: own } : form.failure;
  const set = useSetter(props, typed);
  const save = (enabled?: boolean): void => {
    setTried(checked.problems.length > 0);
    if (checked.problems.length > 0) requestAnimationFrame(() => focusProblem(fields.current));
    else void form.save(enabled === undefined ? {} : { text: engage.textWith(form.draft.text, ['enabled'], enabled) });
  };
  useEffect(() => {
    if (form.failure !== null && isSeen) focusProblem(fields.current);
  }, [form.failure]);
  return (
    <div class="editor">
      <form class="stack" ref={fields} noValidate onSubmit={submitHandler(() => save())}>
        <DefinitionContext.Provider
          value={{ schema: DEFINITION_SCHEMAS[spec.kind], filled: checked.filled, used, problems, set }}
        >
          <SiteNamesContext.Provider value={names}>
            <fieldset class="stack" disabled={!mayAt('engage.change', siteId) || form.isBusy}>
              <DefinitionFields
                kind={spec.kind}
                isNew={item === null}
                onLook={(at) => setLook((now) => (now.at === at && now.times === 0 ? now : { at, times: 0 }))}
              />
            </fieldset>
          </SiteNamesContext.Provider>
        </DefinitionContext.Provider>
        {failure !== null && (
          <div data-failure tabIndex={-1}>
            <FailureNote failure={failure} />
          </div>
        )}
        <DefinitionActions {...props} onSave={save} />
      </form>
      <Preview
        kind={spec.kind}
        drawable={checked.drawable}
        look={look}
        onRestart={() => setLook({ ...look, times: look.times + 1 })}
      />
    </div>
  );
}

const NOT_SENT = { status: 0, code: 'definition_unfinished', message: 'Not saved: some fields are invalid.' };

/** Puts the focus on the first field that is not right, and unfolds what it is in; where none is, on what is said of it. */
function focusProblem(form: HTMLFormElement | null): void {
  const found =
    form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-problem]') ??
    form?.querySelector<HTMLElement>('[data-failure]');
  for (let part = found?.parentElement ?? null; part !== null && part !== form; part = part.parentElement) {
    if (part instanceof HTMLDetailsElement) part.open = true;
  }
  found?.focus();
}

/** How fields change a definition. @param typed As it is now. */
function useSetter({ item, form }: Pick<DefinitionTabProps, 'item' | 'form'>, typed: object) {
  const last = useRef({ name: '', before: typed, text: '' });
  return (path: engage.Path, value: unknown): void => {
    const name = engage.pathName(path);
    // An id may be that of another item on the way to the one that somebody types: its texts go along from where it began.
    const isMore = last.current.name === name && last.current.text === form.draft.text;
    const before = isMore ? last.current.before : typed;
    const changed = engage.withNames(before, path, value);
    const follows =
      item === null && name === 'name' && engage.textAt(typed, ['id']) === idOf(engage.textAt(typed, ['name']));
    const text = engage.textOf(follows ? engage.withValue(changed, ['id'], idOf(String(value))) : changed);
    last.current = { name, before, text };
    form.edit({ text });
  };
}

/**
 * Names of all items that a definition had since its form was opened, or that something is known of: under an id that was
 * used before, another question would take over the translations and the results of a removed one.
 *
 * @param definitions As it is stored, and as it is typed.
 */
function useUsedNames(...definitions: readonly unknown[]): ReadonlySet<string> {
  const used = useRef(new Set<string>()).current;
  for (const one of definitions)
    for (const name of [...engage.itemNames(one), ...engage.translatedNames(one)]) used.add(name);
  return used;
}

interface PreviewProps {
  kind: EngageKind;
  /** Null: it cannot be drawn as it is typed now; the last that could be stays. */
  drawable: Definition | null;
  look: Look;
  onRestart(): void;
}

interface Look {
  /** The question that is worked on. */
  at: number;
  /** How often it was begun anew since then; 0: it begins with that question. */
  times: number;
}

/** What a visitor sees of a definition, drawn by the code that draws it for visitors. */
function Preview({ kind, drawable, look: { at, times }, onRestart }: PreviewProps) {
  const pane = useRef<HTMLDivElement>(null);
  const last = useRef(drawable);
  if (drawable !== null) last.current = drawable;
  const shown = last.current;
  const [locale, setLocale] = useState('');
  const [isClosed, setClosed] = useState(false);
  const languages = shown === null ? [] : languagesOf(shown);
  const language = languages.includes(locale) ? locale : (languages[0] ?? '');
  const item = shown === null ? null : previewItem(kind, shown, language);
  useEffect(() => {
    if (pane.current === null || item === null) return;
    const first = 'questions' in item.content && times === 0 ? Math.min(at, item.content.questions.length - 1) : 0;
    setClosed(false);
    drawPreview(pane.current, item, first, () => {
      pane.current?.replaceChildren();
      setClosed(true);
    });
  }, [JSON.stringify(item), at, times]);
  return (
    <section class="preview" aria-label="Preview">
      <div class="preview-head">
        <h3>Preview</h3>
        <button type="button" class="button small" onClick={onRestart}>
          Restart
        </button>
      </div>
      {languages.length > 1 && (
        <SelectField
          label="Language"
          value={language}
          options={languages.map((value) => ({ value, label: value }))}
          onValue={setLocale}
        />
      )}
      <div class="preview-pane" ref={pane} />
      {isClosed && <p class="muted small">Closed by the visitor.</p>}
      {drawable === null && (
        <p class="muted small">Some fields are invalid.{shown !== null && ' The last valid version is shown.'}</p>
      )}
      <p class="hint">Nothing entered here is sent. Links are disabled, and images are placeholders.</p>
    </section>
  );
}

/** The panel stays within the preview, which is its page. */
const WITHIN =
  '.panel{max-height:calc(100% - 32px)}.popover,.modal{width:min(var(--svc-width),100% - 32px)}.modal{height:fit-content}';
/** Stands for a picture: the dashboard's policy loads none of another host. */
const PICTURE = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="320"><rect width="640" height="320" fill="#c9ced6"/><path d="M60 280l150-150 90 90 70-70 210 130z" fill="#868e99"/></svg>',
)}`;

/**
 * Draws an item in an element of the dashboard by the tag's own code. Texts stay texts, links lead nowhere and nothing is
 * sent; a shadow root keeps its styles from the dashboard's.
 *
 * @param at Place of the question that a survey begins with.
 * @param closed It was closed, or came to its end without a word.
 */
function drawPreview(pane: HTMLElement, item: ShownItem, at: number, closed: () => void): void {
  const [host, root, box, body] = panelFrame(item, closed);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(WITHIN);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  if ('showModal' in box) box.setAttribute('open', '');
  for (const type of ['click', 'auxclick']) root.addEventListener(type, stayHere, true);
  const panel: Panel = {
    fill: (...content) => body.replaceChildren(element('div', { className: 'body' }, ...content)),
    appear: () => undefined,
    close: closed,
  };
  fillIn(panel, item, at, closed);
  pane.replaceChildren(host);
}

function stayHere(event: Event): void {
  if (event.target instanceof Element && event.target.closest('a') !== null) event.preventDefault();
}

function fillIn(panel: Panel, item: ShownItem, at: number, closed: () => void): void {
  const { words } = item;
  if (item.kind === 'survey') {
    showSurvey(panel, item.content, words, { at, answers: {} }, () => undefined, closed);
  } else if (item.kind === 'promo') {
    const { image_url: address, image_alt: alt } = item.content;
    const picture = address === '' ? undefined : element('img', { alt, src: PICTURE });
    showPromo(panel, item.content, picture, words, () => undefined);
  } else showForm(panel, item.content, words, (_filled, settled) => settled('taken', item.content.message));
}

interface DefinitionActionsProps extends DefinitionTabProps {
  /** @param enabled Whether it is to be shown; left out: as it is. */
  onSave(enabled?: boolean): void;
}

export function DefinitionActions(props: DefinitionActionsProps) {
  const { siteId, spec, item, path, form, onRemoved, onChanged, onSave } = props;
  if (!mayAt('engage.change', siteId)) return null;
  const read = readObject(form.draft.text);
  const isOn = read.ok && valueAt(read.value, ['enabled']) !== false;
  const isOff = !read.ok || form.isBusy;
  const action = isOn ? 'Pause' : 'Start';
  const isSaved = item !== null && !form.isChanged;
  return (
    <div class="actions spread">
      {item !== null && <RemoveItem {...{ spec, item, path, onRemoved }} onTheirs={onChanged} />}
      {(item !== null || !isOn) && (
        <button type="button" class="button" disabled={isOff} onClick={() => onSave(!isOn)}>
          {isSaved ? action : `Save and ${action.toLowerCase()}`}
        </button>
      )}
      <button type="submit" class="button primary" disabled={isOff || isSaved}>
        Save
      </button>
    </div>
  );
}

interface RemoveItemProps extends Pick<DefinitionTabProps, 'spec' | 'path' | 'onRemoved'> {
  item: EngageView;
  onTheirs(): void;
}

const RemoveItem = ({ spec, item, path, ...rest }: RemoveItemProps) => (
  <RemoveButton<EngageView>
    item={item}
    name={item.name}
    what={`this ${spec.one}`}
    factsOf={(of) => definitionFacts(definitionText(of))}
    read={() => request('GET', path)}
    remove={({ version }) => request('DELETE', path, { version })}
    {...rest}
  >
    It is no longer shown. Collected answers are kept.
  </RemoveButton>
);

export interface EngageDialogProps {
  siteId: string;
  spec: KindSpec;
  /** Of the kind in the API. */
  path: string;
  /** Null: a new one. */
  item: EngageView | null;
  onChanged(): void;
  onClose(): void;
}

export interface DefinitionTabProps extends Pick<EngageDialogProps, 'siteId' | 'spec' | 'item' | 'onChanged'> {
  /** Of the item in the API, or of the kind where it is new. */
  path: string;
  /** Holds the definition as JSON, which is what all views change. */
  form: Editing<{ text: string }>;
  onRemoved(): void;
}

export interface DefinitionFormProps extends DefinitionTabProps {
  /** Whether it is the view that is looked at. */
  isSeen: boolean;
}
