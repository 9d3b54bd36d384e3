import torch
import torch.nn as nn
import torch.nn.functional as F

teacher = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
batches = [(torch.randn(5, 6), torch.randint(0, 3, (5,))) for _ in range(3)]
logits = {i: teacher(x) for i, (x, _) in enumerate(batches)}
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)


def distil(student_logits, teacher_logits, labels, temperature=2.0, weight=0.5):
    soft = F.kl_div(
        F.log_softmax(student_logits / temperature, dim=1),
        F.softmax(teacher_logits / temperature, dim=1),
        reduction="batchmean",
    )
    return weight * temperature**2 * soft + (1 - weight) * F.cross_entropy(student_logits, labels)


for epoch in range(2):
    total = 0.0
    for i, (x, y) in enumerate(batches):
        loss = distil(student(x), logits[i], y)
        optimizer.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(batches))
