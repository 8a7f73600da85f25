import { LATER_PAGES, testThatPagesWork } from './support/guide-pages.js';

testThatPagesWork(LATER_PAGES);
