// Schemas of what counts as one page of a site, and of what rules would make of its pages.
import { type Static, Type } from 'typebox';
import {
  PAGE_PARAMETER_PATTERN,
  PAGE_PARAMETERS_MAX,
  PAGE_RULE_CHARACTERS_MAX,
  PAGE_RULE_PATTERN,
  PAGE_RULES_MAX,
} from '#pipelines/settings/page_rules.ts';
import { allOptional, closed, countField, refusedAs, timeField } from './fields.ts';

export const pagesShape = closed({
  drop_trailing_slash: Type.Boolean({ description: '/about/ is /about' }),
  lower_case: Type.Boolean({ description: '/About is /about' }),
  drop_index_names: Type.Boolean({ description: '/blog/index.html is /blog/; of default.aspx and the like too' }),
  shorten_ids: Type.Boolean({ description: 'Numbers, UUIDs, long hex and tokens in a path are :id' }),
  hash_routes: Type.Boolean({
    description: 'A route in the fragment, #/ or #!/, is part of the page; the tag counts another one as a page view',
  }),
  parameters: Type.Array(Type.String({ pattern: PAGE_PARAMETER_PATTERN, ...refusedAs('page_parameter_malformed') }), {
    description: 'Parameters that are part of the page',
    maxItems: PAGE_PARAMETERS_MAX,
    ...refusedAs('too_many'),
  }),
  rules: Type.Array(
    Type.String({
      description: 'A path: :name is one part of it, * any text within a part, and as the last part all that follows',
      pattern: PAGE_RULE_PATTERN,
      maxLength: PAGE_RULE_CHARACTERS_MAX,
      ...refusedAs('page_rule_malformed'),
    }),
    { description: 'The first that fits is the page', maxItems: PAGE_RULES_MAX, ...refusedAs('too_many') },
  ),
});

/** Members that are left out stay as they are. */
export const pagesChange = closed(allOptional(pagesShape.properties), {
  description:
    'Which addresses are one page, in every question and for past events too; members that are left out stay as they are',
});

export const PAGES_SHOWN = 50;
const PAGES_SHOWN_MAX = 500;
export const pagePreviewBody = closed({
  pages: Type.Optional(pagesChange),
  limit: Type.Optional(
    Type.Integer({ description: 'How many pages', minimum: 1, maximum: PAGES_SHOWN_MAX, default: PAGES_SHOWN }),
  ),
});

const views = countField('Views of it');
export const pagePreviewAnswer = Type.Object({
  from: timeField('Since when page views are looked at'),
  to: timeField('Until when'),
  views: countField('All page views'),
  pages_before: countField('Pages without any rules'),
  pages_after: countField('Pages by the rules'),
  items: Type.Array(
    Type.Object({
      page: Type.String({ description: 'As it is counted by the rules' }),
      views,
      is_changed: Type.Boolean({ description: 'Whether it is another than what was sent' }),
      source_pages: countField('How many pages without rules become it'),
      sources: Type.Array(Type.Object({ page: Type.String(), views }), { description: 'Those of most views' }),
    }),
    {
      description:
        'Pages that are changed first, then those of most views; those of fewer than five persons only for who may see persons',
    },
  ),
});
export type PagePreview = Static<typeof pagePreviewAnswer>;
