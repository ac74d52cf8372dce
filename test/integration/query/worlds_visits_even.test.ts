import { answersSuite } from './world_answers.ts';

answersSuite('even', ['visits', 'revenue']);
