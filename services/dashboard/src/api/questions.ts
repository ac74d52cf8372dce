import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';
import type { LifecycleAnswer } from '#pipelines/analytics/lifecycle.ts';
import type { PathsAnswer, PathsQuery } from '#pipelines/analytics/paths.ts';
import type { ActorsAnswer, ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type {
  FunnelQuery,
  LifecycleQuery,
  LiveQuery,
  RetentionQuery,
  StickinessQuery,
  TimelineQuery,
  TopQuery,
  TrendsQuery,
} from '#pipelines/analytics/query_schemas.ts';
import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import type { StickinessAnswer } from '#pipelines/analytics/stickiness.ts';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { Answer } from './api_answer.ts';
import { request, requestFile } from './request.ts';

/** What may be asked of the events of a site, and what is answered, by the last part of the path. */
export interface Questions {
  funnel: [FunnelQuery, FunnelAnswer];
  trends: [TrendsQuery, TrendsAnswer];
  retention: [RetentionQuery, RetentionAnswer];
  stickiness: [StickinessQuery, StickinessAnswer];
  lifecycle: [LifecycleQuery, LifecycleAnswer];
  paths: [PathsQuery, PathsAnswer];
  actors: [ActorsQuery, ActorsAnswer];
  top: [TopQuery, TopAnswer];
  live: [LiveQuery, Listing];
  timeline: [TimelineQuery, Listing];
}

/** Asks about the events of a site. */
export function ask<Name extends keyof Questions>(
  siteId: string,
  name: Name,
  question: Questions[Name][0],
  signal?: AbortSignal,
): Promise<Answer<Questions[Name][1] & { as_of: number }>> {
  const options = { body: question, ...(signal === undefined ? {} : { signal }) };
  return request('POST', `/v1/query/${encodeURIComponent(siteId)}/${name}`, options);
}

/** Asks for the answer as a file: CSV or Parquet, as the service writes it. */
export function askFile<Name extends keyof Questions>(
  siteId: string,
  name: Name,
  question: Questions[Name][0],
  format: 'csv' | 'parquet',
): Promise<Answer<Blob>> {
  return requestFile('POST', `/v1/query/${encodeURIComponent(siteId)}/${name}`, { query: { format }, body: question });
}
