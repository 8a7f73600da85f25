import { treesHold } from './trees.js';

treesHold(1, 250);
