import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { SiteNamesContext, useSiteNames } from '../../questions/site_names.ts';
import { FailureNote } from '../../ui/states.tsx';
import { mayAt } from '../../who.ts';
import { AppearanceFields, NameFields, TimeFields } from './common_fields.tsx';
import { DefinitionActions } from './definition_actions.tsx';
import { checkDefinition } from './definition_check.ts';
import type { DefinitionFormProps } from './dialog_parts.ts';
import { readObject, textWith } from './engage_item.ts';
import { FormFields } from './lead_form_fields.tsx';
import { DefinitionContext } from './path_fields.tsx';
import { type Look, Preview } from './preview.tsx';
import { PromoFields } from './promo_fields.tsx';
import { SurveyFields } from './survey_fields.tsx';
import { FrequencyFields, TargetingFields } from './targeting_fields.tsx';
import { useSetter } from './use_setter.ts';
import { useUsedNames } from './use_used_names.ts';

/** A definition as a form, and beside it what visitors see. */
export function DefinitionForm(props: DefinitionFormProps): VNode {
  const read = readObject(props.form.draft.text);
  const used = useUsedNames(props.item, read.ok ? read.value : null);
  if (read.ok) return <Fields {...props} typed={read.value} used={used} />;
  return <p class="muted">What stands under Advanced is no JSON: {read.message}</p>;
}

interface FieldsProps extends DefinitionFormProps {
  typed: object;
  used: ReadonlySet<string>;
}

function Fields({ typed, used, ...props }: FieldsProps): VNode {
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
    else void form.save(enabled === undefined ? {} : { text: textWith(form.draft.text, ['enabled'], enabled) });
  };
  useEffect(() => {
    if (form.failure !== null && isSeen) focusProblem(fields.current);
  }, [form.failure]);
  return (
    <div class="editor">
      <form
        class="stack"
        ref={fields}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <DefinitionContext.Provider value={{ filled: checked.filled, used, problems, set }}>
          <SiteNamesContext.Provider value={names}>
            <fieldset class="stack" disabled={!mayAt('engage.change', siteId) || form.isBusy}>
              <NameFields isNew={item === null} />
              <KindFields
                kind={spec.kind}
                onLook={(at) => setLook((now) => (now.at === at && now.times === 0 ? now : { at, times: 0 }))}
              />
              <AppearanceFields />
              <TargetingFields />
              <FrequencyFields />
              <TimeFields />
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

function KindFields({ kind, onLook }: { kind: EngageKind; onLook(index: number): void }): VNode {
  if (kind === 'survey') return <SurveyFields onLook={onLook} />;
  return kind === 'promo' ? <PromoFields /> : <FormFields />;
}

const NOT_SENT = { status: 0, code: 'definition_unfinished', message: 'Nothing was saved: some fields are not right.' };

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
