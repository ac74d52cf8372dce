// What POST /v1/engage answers, as pipelines/engage/content.ts makes it. All defaults are filled in there.
import type { PanelWords } from '#pipelines/engage/content.ts';
import type { Promo } from '#pipelines/engage/definition_problems.ts';
import type { Form, FormField as StoredField } from '#pipelines/engage/form.ts';
import type { Question as StoredQuestion, Survey } from '#pipelines/engage/survey.ts';

/** An answer: a text, a step, choice ids or words of the visitor's own, true for a link that was followed. */
export type Answer = string | number | boolean | string[];

/** `last`: the survey ends here, whatever is answered. */
export type Question = StoredQuestion & { last: boolean };
export type SurveyContent = Pick<Survey, 'title' | 'thanks'> & { questions: Question[] };

/** How far a visitor is in a survey. */
export interface SurveyProgress {
  /** Place of the question that is asked. */
  at: number;
  /** By question id, in the order in which they were given. */
  answers: Record<string, Answer>;
  /** How often an answer was given, also once more to one question. */
  revision?: number;
}

export type PromoContent = Pick<Promo, 'title' | 'body' | 'image_url' | 'image_alt' | 'button' | 'code'>;

export type FormField = Omit<StoredField, 'map' | 'store'>;
export type FormContent = Pick<Form, 'title' | 'body' | 'button' | 'message'> &
  Pick<Form, 'consent_text' | 'consent_required' | 'consent_version'> &
  Pick<Form['spam'], 'honeypot' | 'min_ms'> & { fields: FormField[] };

/** What makes an item appear. */
export type Show = Form['show'];

interface Item<Kind, Content> extends Pick<Form, 'id' | 'locale' | 'show' | 'place' | 'mount'> {
  kind: Kind;
  version: number;
  theme: Record<string, string>;
  dir: 'ltr' | 'rtl';
  /** What its panel is called by those who do not see it. */
  label: string;
  words: PanelWords;
  content: Content;
  token: string;
}
export type SurveyItem = Item<'survey', SurveyContent>;
export type PromoItem = Item<'promo', PromoContent>;
export type FormItem = Item<'form', FormContent>;
export type ShownItem = SurveyItem | PromoItem | FormItem;

/** How an item is called where both kind and id are needed: `survey:nps`. */
export const nameOf = ({ kind, id }: ShownItem): string => `${kind}:${id}`;
