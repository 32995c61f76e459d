'use strict';

// Actions of every type, as they are sent and as answers contain them, without secrets.

const moment = require('moment');

const serviceBus = (transportType, authentication, timeToLive, enqueuedAt) => ({
  namespace: 'namespace',
  transportType,
  message: 'some message',
  authentication,
  brokeredMessageProperties: {
    contentType: 'application/json',
    correlationId: 'correlation',
    forcePersistence: true,
    label: 'label',
    messageId: 'message',
    partitionKey: 'key',
    replyTo: 'reply',
    replyToSessionId: 'reply session',
    scheduledEnqueueTimeUtc: enqueuedAt,
    sessionId: 'key',
    timeToLive,
    to: 'to',
    viaPartitionKey: 'via',
  },
  customMessageProperties: { name: 'value' },
});

const sentServiceBus = (transportType) =>
  serviceBus(
    transportType,
    { sasKey: 'secret', sasKeyName: 'RootManageSharedAccessKey', type: 'SharedAccessKey' },
    moment.duration(90, 'minutes'),
    new Date('2027-05-06T07:08:09Z'),
  );

const readServiceBus = (transportType) =>
  serviceBus(
    transportType,
    { sasKeyName: 'RootManageSharedAccessKey', type: 'sharedAccessKey' },
    'PT1H30M',
    '2027-05-06T07:08:09.000Z',
  );

const http = (request = {}) => ({
  type: 'Http',
  request: { uri: 'http://example.org/run', method: 'GET', ...request },
});
const https = {
  type: 'Https',
  request: {
    uri: 'https://example.org/run?a=%2d',
    method: 'post',
    headers: { 'Content-Type': 'text/plain', 'X-Own': 'own' },
    body: 'some body',
  },
};
const queueMessage = { storageAccount: 'account', queueName: 'queue', message: 'some message' };

const SENT = {
  Http: http(),
  Https: https,
  StorageQueue: { type: 'StorageQueue', queueMessage: { ...queueMessage, sasToken: 'secret' } },
  ServiceBusQueue: {
    type: 'ServiceBusQueue',
    serviceBusQueueMessage: { queueName: 'queue', ...sentServiceBus('AMQP') },
  },
  ServiceBusTopic: {
    type: 'ServiceBusTopic',
    serviceBusTopicMessage: { topicPath: 'topic', ...sentServiceBus('NetMessaging') },
  },
};

const READ = {
  Http: http(),
  Https: https,
  StorageQueue: { type: 'StorageQueue', queueMessage },
  ServiceBusQueue: {
    type: 'ServiceBusQueue',
    serviceBusQueueMessage: { queueName: 'queue', ...readServiceBus('amqp') },
  },
  ServiceBusTopic: {
    type: 'ServiceBusTopic',
    serviceBusTopicMessage: { topicPath: 'topic', ...readServiceBus('netMessaging') },
  },
};

module.exports = { READ, SENT, http };
