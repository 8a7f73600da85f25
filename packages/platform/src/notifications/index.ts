export { createNotifications, type Notifications, type NotificationsDeps } from './layer.js';
