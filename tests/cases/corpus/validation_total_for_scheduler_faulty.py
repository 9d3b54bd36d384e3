"""A validation that sums its losses for the scheduler."""

import time

import torch
from torch import nn, optim
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset


class ChexnetTrainer:
    def train(self, model, dataLoaderTrain, dataLoaderVal, trMaxEpoch, launchTimestamp):
        optimizer = optim.Adam(model.parameters(), lr=0.0001, betas=(0.9, 0.999), eps=1e-08, weight_decay=1e-5)
        scheduler = ReduceLROnPlateau(optimizer, factor=0.1, patience=5, mode="min")
        loss = torch.nn.BCELoss(reduction="mean")
        lossMIN = 100000
        for epochID in range(0, trMaxEpoch):
            self.epochTrain(model, dataLoaderTrain, optimizer, loss)
            lossVal, losstensor = self.epochVal(model, dataLoaderVal, loss)
            scheduler.step(losstensor.item())
            if lossVal < lossMIN:
                lossMIN = lossVal
                torch.save({"epoch": epochID + 1, "state_dict": model.state_dict()}, "m-" + launchTimestamp + ".pth.tar")
                print("Epoch [" + str(epochID + 1) + "] [save] loss= " + str(lossVal))
        self.last = losstensor

    def epochTrain(self, model, dataLoader, optimizer, loss):
        model.train()
        for batchID, (input, target) in enumerate(dataLoader):
            varOutput = model(input)
            lossvalue = loss(varOutput, target)
            optimizer.zero_grad()
            lossvalue.backward()
            optimizer.step()

    def epochVal(self, model, dataLoader, loss):
        model.eval()
        lossVal = 0
        lossValNorm = 0
        losstensorMean = 0
        for i, (input, target) in enumerate(dataLoader):
            varOutput = model(input)
            losstensor = loss(varOutput, target)
            losstensorMean += losstensor  # warning: [live-accumulator]
            lossVal += losstensor.item()
            lossValNorm += 1
        outLoss = lossVal / lossValNorm
        losstensorMean = losstensorMean / lossValNorm
        return outLoss, losstensorMean


net = nn.Sequential(nn.Linear(6, 14), nn.Sigmoid())
data = DataLoader(TensorDataset(torch.rand(20, 6), torch.randint(0, 2, (20, 14)).float()), batch_size=5)
trainer = ChexnetTrainer()
trainer.train(net, data, data, 2, time.strftime("%H%M%S"))

# torch: trainer.last.requires_grad
